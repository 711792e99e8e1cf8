"""What `attend` refuses, and that it says why in one line."""

import numpy as np
import pytest
import torch
from attend_calls import backends

from ordinate.errors import InputError, Unavailable
from ordinate.ops import attend
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.rope import Rope
from ordinate.schemes.t5 import T5

Q, K, V = torch.zeros(2, 3, 4, 8), torch.zeros(2, 5, 2, 8), torch.zeros(2, 5, 2, 6)
COS, SIN = torch.ones(6, 4), torch.zeros(6, 4)
ROTATE = {"cos": COS, "sin": SIN}
PACKED = {"q": Q[0], "k": K[0], "v": V[0], "cu_seqlens_q": torch.tensor([0, 3]), "cu_seqlens_k": torch.tensor([0, 5])}
PAGED = {"block_table": torch.tensor([[0, 1], [1, 0]]), "key_lengths": torch.tensor([10, 3])}
T = torch.tensor

WRONG = {
    "kinds": ({"k": K.numpy()}, "attend needs NumPy arrays only or torch tensors only, got q Tensor, k ndarray"),
    "no k": ({"k": None}, "k NoneType"),
    "list": ({"slopes": [1.0] * 4}, "slopes list"),
    "device": ({"slopes": torch.zeros(4, device="meta")}, "all must be on one device, got q on cpu"),
    "three axes": ({"q": Q[0]}, r"q must have shape \[batch, tokens, heads, dim\] \(packed sequences need cu_seq"),
    "two axes": ({"v": V[0, 0]}, r"v must have shape \[batch, tokens, heads, dim\], got \[2, 6\]"),
    "no channels": ({"q": Q[..., :0]}, r"q must have at least one head of at least one channel, got \[2, 3, 4, 0\]"),
    "no heads": ({"k": K[:, :, :0]}, r"k must have at least one head of at least one channel, got \[2, 5, 0, 8\]"),
    "dtypes": ({"k": K.double()}, "q, k and v must have one dtype, got float32, float64, float32"),
    "integers": ({"q": Q.int(), "k": K.int(), "v": V.int()}, "q, k and v must be one of float16, .* got int32"),
    "dim": ({"k": K[..., :6]}, "q and k must have the same dim, got 8 and 6"),
    "k and v": ({"v": V[:, :4]}, r"k and v must agree but for dim, got \[2, 5, 2, 8\] and \[2, 4, 2, 6\]"),
    "heads": ({"q": Q[:, :, :3]}, "q's heads must be a multiple of k's, got 3 and 2"),
    "batch": ({"q": Q[:1]}, "q and k must have the same batch, got 1 and 2"),
    "causal": ({"causal": 1}, "causal must be True or False, got 1"),
    "return_lse": ({"return_lse": "yes"}, "return_lse must be True or False, got 'yes'"),
    "scale": ({"softmax_scale": 0.0}, "softmax_scale must be > 0, got 0.0"),
    "softcap": ({"softcap": 0}, "softcap must be > 0, got 0"),
    "infinite softcap": ({"softcap": float("inf")}, "softcap must be a finite number, got inf"),
    "window of one": ({"window": 4}, r"window must be \(left, right\), got 4"),
    "window of three": ({"window": (1, 2, 3)}, r"window must be \(left, right\), got \(1, 2, 3\)"),
    "window -1": ({"window": (4, -1)}, r"window's right \(None for no bound\) must be an integer >= 0, got -1"),
    "window float": ({"window": (4.0, 0)}, r"window's left \(None for no bound\) must be an integer >= 0, got 4.0"),
    "keep_first": ({"keep_first": 4}, "keep_first needs a window to keep keys beyond, got keep_first 4, no window"),
    "keep_first -1": ({"keep_first": -1, "window": (4, 0)}, "keep_first must be an integer >= 0, got -1"),
    "sinks": ({"sink_logits": torch.zeros(2)}, r"sink_logits must have shape \[4\], got \[2\]"),
    "sinks half": ({"sink_logits": torch.zeros(4).half()}, "sink_logits must be float32, or float64 where q is, got f"),
    "sinks double": ({"sink_logits": torch.zeros(4).double()}, "sink_logits must be float32, or float64 where q is"),
    "slopes": ({"slopes": torch.zeros(3, 4)}, r"slopes must have shape \[4\] or \[2, 4\], got \[3, 4\]"),
    "query_scale": ({"query_scale": torch.zeros(5)}, r"query_scale must have shape \[3\] or \[2, 3\], got \[5\]"),
    "table": ({"by_distance": torch.zeros(4, 6), "reach": 3}, r"by_distance must have shape \[4, 7\], got \[4, 6\]"),
    "no reach": ({"by_distance": torch.zeros(4, 7)}, "given together, got reach None with by_distance"),
    "reach alone": ({"reach": 3}, "given together, got reach 3 without by_distance"),
    "reach": ({"by_distance": torch.zeros(4, 7), "reach": -1}, "reach must be an integer >= 0, got -1"),
    "mask": ({"mask": torch.ones(3, 5)}, "mask must be bool, got float32"),
    "mask shape": (
        {"mask": torch.ones(3, 4).bool()},
        r"mask must broadcast to \[batch, heads, query, key\] \[2, 4, 3, 5\], got shape \[3, 4\]",
    ),
    "mask axes": ({"mask": torch.ones(1, 1, 1, 3, 5).bool()}, r"got shape \[1, 1, 1, 3, 5\]"),
    "bias": ({"bias": torch.ones(3, 5).int()}, "bias must be float16 or bfloat16 or float32 or float64, got int32"),
    "bias shape": ({"bias": torch.ones(2, 3, 5)}, r"bias must broadcast to .* got shape \[2, 3, 5\]"),
    "positions": (
        {"query_positions": torch.arange(4)},
        r"query_positions must have .* \(\[3\] or \[2, 3\]\), got \[4\]",
    ),
    "float positions": ({"query_positions": torch.arange(3.0)}, "query_positions must be int32 or int64, got float32"),
    "key positions": ({"key_positions": torch.arange(5)}, "key_positions needs query_positions, got None"),
    "key positions' shape": (
        {"query_positions": torch.arange(3), "key_positions": torch.zeros(1, 5).int()},
        r"key_positions must have shape \[tokens\] or \[batch, tokens\] \(\[5\] or \[2, 5\]\), got \[1, 5\]",
    ),
    "no sin": ({"cos": COS}, "cos needs sin, got None"),
    "no cos": ({"sin": SIN}, "sin needs cos, got None"),
    "table shapes": ({"cos": COS, "sin": SIN[:5]}, r"cos and sin must both have shape .* got \[6, 4\] and \[5, 4\]"),
    "no pairs": ({"cos": COS[:, :0], "sin": SIN[:, :0]}, r"cos and sin must both have shape"),
    "double table": ({"cos": COS.double(), "sin": SIN}, "cos must be float32, got float64"),
    "wide table": ({"cos": torch.ones(6, 5), "sin": torch.ones(6, 5)}, "q and k must have at least 10 channels for 5"),
    "proportional": (
        {"cos": COS[:, :3], "sin": SIN[:, :3], "part": "proportional"},
        "q and k must have exactly 6 channels for 3 pairs, got 8",
    ),
    "pairing": ({"pairing": "neox"}, "pairing must be one of half, interleaved, interleaved-in-half-out, got 'neox'"),
    "part": ({"part": "middle"}, "part must be one of first, last, proportional, got 'middle'"),
    "short table": ({"cos": COS[:4], "sin": SIN[:4]}, "query positions must lie in the table, 0 to 3, got 4"),
    "query past": (
        ROTATE | {"query_positions": T([0, 6, 1])},
        "query positions must lie in the table, 0 to 5, got 6",
    ),
    "query before": (
        ROTATE | {"query_positions": T([0, -1, 1])},
        "query positions must lie in the table, 0 to 5, got -1",
    ),
    "key past": (
        ROTATE | {"query_positions": T([0, 1, 2]), "key_positions": T([0, -1, 7, 2, 3])},
        "key positions must lie in the table, 0 to 5, got 7",
    ),
    "more queries than keys": (
        ROTATE | {"key_lengths": T([5, 2])},
        "query positions must lie in the table, 0 to 5, got -1",
    ),
    "lengths": ({"key_lengths": T([5, 6])}, "key_lengths must lie in 0 to 5, got 6"),
    "negative length": ({"key_lengths": T([-1, 5])}, "key_lengths must lie in 0 to 5, got -1"),
    "lengths' shape": ({"key_lengths": T([5])}, r"key_lengths must have shape \[batch\] \(\[2\]\), got \[1\]"),
    "lengths' dtype": ({"key_lengths": T([5.0, 1.0])}, "key_lengths must be int32 or int64, got float32"),
    "one border": ({"cu_seqlens_q": T([0, 3])}, "cu_seqlens_q needs cu_seqlens_k, got None"),
    "other border": ({"cu_seqlens_k": T([0, 3])}, "cu_seqlens_k needs cu_seqlens_q, got None"),
    "packed axes": (PACKED | {"q": Q}, r"q must have shape \[tokens, heads, dim\], got \[2, 3, 4, 8\]"),
    "borders": (PACKED | {"cu_seqlens_q": T([0, 1, 3])}, r"must have one length, sequences \+ 1, got \[3, 2\]"),
    "no borders": (PACKED | {"cu_seqlens_q": T([], dtype=torch.int32)}, r"must have one length"),
    "borders' axes": (PACKED | {"cu_seqlens_q": T([[0, 3]])}, r"cu_seqlens_q must have shape \[sequences \+ 1\], got"),
    "first border": (PACKED | {"cu_seqlens_q": T([1, 3])}, "cu_seqlens_q must go from 0 to the 3 tokens, got 1 to 3"),
    "last border": (PACKED | {"cu_seqlens_k": T([0, 4])}, "cu_seqlens_k must go from 0 to the 5 tokens, got 0 to 4"),
    "falling borders": (
        PACKED | {"cu_seqlens_q": T([0, 2, 3]), "cu_seqlens_k": T([0, 6, 5])},
        "cu_seqlens_k must not fall, got 5 after 6",
    ),
    "packed lengths": (PACKED | {"key_lengths": T([5])}, "a packed call takes no key_lengths"),
    "packed mask": (PACKED | {"mask": torch.ones(3, 5).bool()}, "a packed call takes no mask"),
    "packed bias": (PACKED | {"bias": torch.ones(3, 5)}, "a packed call takes no bias"),
    "packed pages": (PACKED | PAGED, "a packed call takes no key_lengths"),
    "packed positions": (
        PACKED | {"query_positions": torch.zeros(1, 3).int()},
        r"query_positions must have shape \[tokens\] \(\[3\]\), got \[1, 3\]",
    ),
    "packed slopes": (
        PACKED | {"slopes": torch.zeros(2, 4)},
        r"slopes must have shape \[4\] or \[1, 4\], got \[2, 4\]",
    ),
    "packed and short": (
        PACKED | ROTATE | {"cu_seqlens_q": T([0, 2, 3]), "cu_seqlens_k": T([0, 1, 5])},
        "query positions must lie in the table, 0 to 5, got -1",
    ),
    "packed and long": (
        PACKED | {"cos": COS[:4], "sin": SIN[:4]},
        "query positions must lie in the table, 0 to 3, got 4",
    ),
    "pages without lengths": ({"block_table": T([[0], [1]])}, "block_table needs key_lengths, got None"),
    "page": (PAGED | {"block_table": T([[0, 2], [1, 0]])}, "block_table must name pages 0 to 1, got 2"),
    "negative page": (PAGED | {"block_table": T([[0, -1], [1, 0]])}, "block_table must name pages 0 to 1, got -1"),
    "paged lengths": (PAGED | {"key_lengths": T([11, 3])}, "key_lengths must lie in 0 to 10, got 11"),
    "block table": (
        PAGED | {"block_table": T([[0, 1]])},
        r"block_table must have shape \[batch, blocks\], got \[1, 2\]",
    ),
    "page size": (PAGED | {"k": K[:, :0], "v": V[:, :0]}, "k must have pages of at least one token"),
    "paged axes": (PAGED | {"k": K[0]}, r"k must have shape \[pages, page_size, kv_heads, dim\].* got \[5, 2, 8\]"),
    "no bias": ({"scheme": Rope(8)}, r"scheme must be a bias of ordinate.schemes, got Rope\("),
    "scheme's heads": ({"scheme": Alibi(heads=2)}, "scheme must have the 4 heads of q, got 2"),
    "learned alone": ({"learned": {}}, "learned needs the scheme that it belongs to, got None"),
    "not learned": ({"scheme": T5(heads=4)}, "t5 learns table: `learned` must hold exactly these, got none"),
    "learned list": ({"scheme": T5(heads=4), "learned": [1]}, "learned must be a mapping"),
    "learned kinds": ({"scheme": T5(heads=4), "learned": {"table": np.zeros((32, 4))}}, "learned 'table' ndarray"),
    "learned shape": ({"scheme": T5(heads=4), "learned": {"table": torch.zeros(32, 3)}}, "'table' must have shape"),
    "backend": ({"backend": "egger"}, "unknown backend 'egger'; did you mean 'eager'?"),
}


@pytest.mark.parametrize("change, message", WRONG.values(), ids=WRONG)
def test_it_is_refused_in_one_line(change, message):
    with pytest.raises(InputError, match=message) as caught:
        attend(**{"q": Q, "k": K, "v": V} | change)
    assert "\n" not in str(caught.value)


TORCH_ONLY = {"kinds", "device", "learned kinds"}


@pytest.mark.parametrize("name", [name for name in WRONG if name not in TORCH_ONLY])
def test_numpy_is_held_to_the_same(name):
    change, message = WRONG[name]
    call = {"q": Q, "k": K, "v": V} | change
    with pytest.raises(InputError, match=message.replace("Tensor", "ndarray")):
        attend(**{name: value.numpy() if isinstance(value, torch.Tensor) else value for name, value in call.items()})


@pytest.mark.parametrize("backend", backends())
def test_every_backend_refuses_before_it_reads(backend):
    for name in ("query past", "key past", "page", "falling borders", "lengths"):
        change, message = WRONG[name]
        with pytest.raises(InputError, match=message):
            attend(**{"q": Q, "k": K, "v": V} | change, backend=backend)


def test_a_backend_that_is_not_here_says_so():
    for backend in ("reference", "gpu"):
        with pytest.raises(Unavailable, match=f"backend {backend!r} cannot serve torch arrays on 'cpu'"):
            attend(Q, K, V, backend=backend)
    with pytest.raises(Unavailable, match="backend 'eager' cannot serve numpy arrays"):
        attend(Q.numpy(), K.numpy(), V.numpy(), backend="eager")


@pytest.mark.parametrize(
    "fine",
    [
        {"window": [4, None]},
        PAGED | {"block_table": T([[0, 1], [1, -7]])},
        ROTATE | {"query_positions": T([0, 1, 2]), "key_positions": T([0, 1, 2, 9, 9]), "key_lengths": T([3, 2])},
        {"query_positions": T([-5, 0, 2**40]), "causal": True},
        PACKED | {"cu_seqlens_q": T([0, 0, 3]), "cu_seqlens_k": T([0, 2, 5])},
        {"slopes": torch.zeros(1, 4).expand(2, 4), "bias": torch.zeros(())},
    ],
)
def test_the_borderline_is_allowed(fine):
    call = {"q": Q, "k": K, "v": V} | fine
    assert attend(**call, backend="eager").isfinite().all()
    arrays = {name: value.numpy() if isinstance(value, torch.Tensor) else value for name, value in call.items()}
    assert np.isfinite(attend(**arrays)).all()
