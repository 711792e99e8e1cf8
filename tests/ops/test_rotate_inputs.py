"""What `rotate` refuses, and that it says why in one line."""

import numpy as np
import pytest
import torch

from ordinate.errors import InputError, Unavailable
from ordinate.ops import rotate, rotate_

COS, SIN = torch.ones(6, 4), torch.zeros(6, 4)
Q, K = torch.zeros(2, 5, 3, 8), torch.zeros(2, 5, 1, 8)

WRONG = {
    "neither": ({"q": None, "k": None}, "rotate needs q or k, got neither"),
    "no table": ({"sin": None}, "rotate needs cos and sin, or frequencies, got None"),
    "kinds": ({"k": K.numpy()}, "rotate needs NumPy arrays only or torch tensors only, got q Tensor, k ndarray"),
    "list": ({"positions": [0, 1, 2, 3, 4]}, "positions list"),
    "device": ({"positions": torch.zeros(5, dtype=torch.int64, device="meta")}, "one device"),
    "two axes": ({"q": Q[0, 0], "k": None}, r"q must have shape \[batch, tokens, heads, dim\].* got \[3, 8\]"),
    "five axes": ({"k": K[None]}, r"k must have shape .* got \[1, 2, 5, 1, 8\]"),
    "integers": ({"q": Q.int()}, "dtype must be one of float16, bfloat16, float32, float64, got int32"),
    "narrow": ({"q": Q[..., :6]}, "q must have at least 8 channels for 4 pairs, got 6"),
    "wide": ({"k": torch.zeros(2, 5, 1, 10), "part": "proportional"}, "k must have exactly 8 channels"),
    "batch": ({"k": K[:1]}, r"same batch and tokens, got \[2, 5\] and \[1, 5\]"),
    "tokens": ({"k": K[:, :4]}, r"same batch and tokens, got \[2, 5\] and \[2, 4\]"),
    "float64 table": ({"cos": COS.double()}, "cos must be float32, got float64"),
    "bfloat16 table": ({"sin": SIN.bfloat16()}, "sin must be float32, got bfloat16"),
    "table shapes": ({"sin": SIN[:5]}, r"got \[6, 4\] and \[5, 4\]"),
    "table axes": ({"cos": COS[None], "sin": SIN[None]}, r"shape \[table, pairs\]"),
    "no pairs": ({"cos": COS[:, :0], "sin": SIN[:, :0]}, r"shape \[table, pairs\]"),
    "short table": ({"cos": COS[:4], "sin": SIN[:4]}, "the table has 4 positions, too few for 5 tokens"),
    "past": ({"positions": torch.tensor([0, 1, 2, 3, 6])}, "positions must lie in the table, 0 to 5, got 6"),
    "before": ({"positions": torch.tensor([0, 1, -1, 3, 4])}, "positions must lie in the table, 0 to 5, got -1"),
    "float positions": ({"positions": torch.arange(5.0)}, "positions must be int32 or int64, got float32"),
    "bool positions": ({"positions": torch.ones(5).bool()}, "positions must be int32 or int64, got bool"),
    "few positions": ({"positions": torch.arange(4)}, r"positions must have shape \[5\] or \[2, 5\], got \[4\]"),
    "one row": ({"positions": torch.arange(5)[None]}, r"positions must have shape \[5\] or \[2, 5\], got \[1, 5\]"),
    "pairing": ({"pairing": "neox"}, "pairing must be one of half, interleaved, interleaved-in-half-out, got 'neox'"),
    "unknown pairing": ({"pairing": "unknown"}, "pairing must be one of"),
    "part": ({"part": "middle"}, "part must be one of first, last, proportional, got 'middle'"),
    "inverse": ({"inverse": 1}, "inverse must be True or False, got 1"),
    "backend": ({"backend": "egger"}, "unknown backend 'egger'; did you mean 'eager'?"),
}


@pytest.mark.parametrize("operation", [rotate, rotate_])
@pytest.mark.parametrize("change, message", WRONG.values(), ids=WRONG)
def test_it_is_refused_in_one_line(operation, change, message):
    with pytest.raises(InputError, match=message) as caught:
        operation(**{"q": Q.clone(), "k": K.clone(), "cos": COS, "sin": SIN} | change)
    assert "\n" not in str(caught.value)


TORCH_ONLY = {"kinds", "device", "bfloat16 table"}


@pytest.mark.parametrize("name", [name for name in WRONG if name not in TORCH_ONLY])
def test_numpy_is_held_to_the_same(name):
    change, _ = WRONG[name]
    given = {"q": Q, "k": K, "cos": COS, "sin": SIN} | change
    arrays = {name: value.numpy() if isinstance(value, torch.Tensor) else value for name, value in given.items()}
    with pytest.raises(InputError):
        rotate(**arrays)


def test_a_packed_call_takes_one_row_of_positions():
    with pytest.raises(InputError, match=r"positions must have shape \[5\], got \[1, 5\]"):
        rotate(Q[0], None, COS, SIN, torch.arange(5)[None])


@pytest.mark.parametrize("rows", [np.array([0, 6]), np.array([-1, 0])])
def test_numpy_positions_never_wrap_around(rows):
    with pytest.raises(InputError, match="positions must lie in the table"):
        rotate(np.zeros((2, 1, 8)), None, COS.numpy(), SIN.numpy(), rows)


@pytest.mark.parametrize("backend", ["gpu", "reference"])
def test_a_backend_that_is_not_here_says_so(backend):
    with pytest.raises(Unavailable, match=f"backend {backend!r} cannot serve torch arrays on 'cpu'"):
        rotate(Q, K, COS, SIN, backend=backend)


def test_a_backend_can_be_asked_for_by_name():
    assert torch.equal(rotate(Q, K, COS, SIN, backend="eager")[0], Q)
    arrays = (t.numpy() for t in (Q, K, COS, SIN))
    assert np.array_equal(rotate(*arrays, backend="reference")[0], Q.numpy())
