"""What `rotate` computes, in NumPy and in PyTorch, against complex numbers and by hand."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_rotate import PAIRINGS, TORCH_DTYPES, calls, expected

from ordinate.ops import rotate
from ordinate.ops.backends import compiled
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup

NUMPY = [("reference", dtype) for dtype in ("float64", "float32", "float16")]
if compiled is not None:
    NUMPY += [("cpu", "float32"), ("cpu", "float16"), ("auto", "float32")]


def check(call, q, k, made, tolerance):
    options = {name: call[name] for name in ("cos", "sin", "positions", "pairing", "part", "inverse")}
    for x, out in zip((q, k), made, strict=True):
        assert out.dtype == x.dtype
        assert out.shape == x.shape
        wide, result = (np.asarray(a.double() if isinstance(a, torch.Tensor) else a, np.float64) for a in (x, out))
        exact, lengths = expected(wide, **options)
        smallest = 2**-25 if "float16" in str(x.dtype) and "b" not in str(x.dtype) else 0
        assert (np.abs(result - exact) <= tolerance[str(x.dtype)] * lengths + smallest * (lengths > 0)).all()


@given(call=calls(), how=st.sampled_from(NUMPY))
@settings(max_examples=200)
def test_in_numpy_it_is_multiplication_by_a_complex_number(call, how, tolerance):
    backend, dtype = how
    q, k = call["q"].astype(dtype), call["k"].astype(dtype)
    allowed = tolerance if backend == "reference" else {name: tolerance[f"torch.{name}"] for name in (dtype,)}
    check(call, q, k, rotate(**call | {"q": q, "k": k, "backend": backend}), allowed)


@given(call=calls(), dtype=st.sampled_from(TORCH_DTYPES))
@settings(max_examples=200)
def test_in_torch_it_is_multiplication_by_a_complex_number(call, dtype, tolerance):
    tensors = {name: torch.from_numpy(value) for name, value in call.items() if isinstance(value, np.ndarray)}
    q, k = tensors["q"].to(dtype), tensors["k"].to(dtype)
    check(call, q, k, rotate(**call | tensors | {"q": q, "k": k}), tolerance)


@given(call=calls(), dtype=st.sampled_from((torch.bfloat16, torch.float16)))
def test_half_precision_is_float32_arithmetic_rounded_once(call, dtype):
    tensors = {name: torch.from_numpy(value) for name, value in call.items() if isinstance(value, np.ndarray)}
    q = tensors["q"].to(dtype)
    narrow = rotate(**call | tensors | {"q": q, "k": None})[0]
    wide = rotate(**call | tensors | {"q": q.float(), "k": None})[0]
    assert torch.equal(narrow, wide.to(dtype))


@given(call=calls())
def test_the_inverse_undoes_the_rotation(call):
    forward = call | {"inverse": False}
    q, k = rotate(**forward)
    back = rotate(**forward | {"q": q, "k": k, "inverse": True})
    # cos and sin are rounded to float32, so cos^2 + sin^2 is 1 to 2^-23 only.
    for x, same in zip((call["q"], call["k"]), back, strict=True):
        assert np.allclose(same, x, rtol=0, atol=2**-21 * np.abs(x).max(initial=0))


@given(call=calls())
def test_lengths_are_kept(call):
    for x, out in zip((call["q"], call["k"]), rotate(**call), strict=True):
        assert np.allclose(np.linalg.norm(out, axis=-1), np.linalg.norm(x, axis=-1), rtol=2**-22)


def random_call(dtype, dim=8, pairs=4, batch=2, tokens=5):
    torch.manual_seed(0)
    angles = torch.rand(tokens, pairs, dtype=torch.float64)
    return (
        torch.randn(batch, tokens, 3, dim).to(dtype),
        torch.randn(batch, tokens, 1, dim).to(dtype),
        angles.cos().float(),
        angles.sin().float(),
    )


def table(positions, dim=4, **options):
    return (torch.from_numpy(t) for t in LayerGroup("full_attention", Rope(dim, **options)).table(positions))


@pytest.mark.parametrize(
    "pairing, values",
    [
        ("half", [-1.984111, 1.959901, 2.462378, 4.019800]),
        ("interleaved", [-1.142640, 1.922076, 2.959851, 4.029800]),
        ("interleaved-in-half-out", [-1.142640, 2.959851, 1.922076, 4.029800]),
    ],
)
def test_one_two_three_four_at_position_one(pairing, values):
    cos, sin = table([0, 1])
    q, _ = rotate(torch.tensor([[[1.0, 2, 3, 4]]]), None, cos, sin, torch.tensor([1]), pairing)
    assert q.flatten().tolist() == pytest.approx(values, abs=1e-6)


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_at_angle_zero_only_channels_move(pairing):
    x = np.arange(8.0).reshape(1, 1, 8)
    cos, sin = np.ones((1, 4), np.float32), np.zeros((1, 4), np.float32)
    moved = [0, 2, 4, 6, 1, 3, 5, 7] if pairing == "interleaved-in-half-out" else list(range(8))
    forward, _ = rotate(x, None, cos, sin, pairing=pairing)
    assert forward.flatten().tolist() == moved
    assert rotate(forward, None, cos, sin, pairing=pairing, inverse=True)[0].flatten().tolist() == list(range(8))


def test_positions_out_of_order_matter():
    cos, sin = table(range(6), dim=8)
    q, k, _, _ = random_call(torch.float32, tokens=3)
    positions = torch.tensor([5, 0, 3])
    out, _ = rotate(q, k, cos, sin, positions)
    assert torch.equal(out, rotate(q, k, cos[positions], sin[positions])[0])
    assert torch.equal(out[:, 1], q[:, 1])
    assert not torch.allclose(out, rotate(q, k, cos, sin)[0])


def test_each_row_of_a_batch_has_its_own_positions():
    cos, sin = table(range(9), dim=8)
    q, k, _, _ = random_call(torch.float32, tokens=3)
    positions = torch.tensor([[0, 1, 2], [6, 7, 8]])
    together = rotate(q, k, cos, sin, positions)
    for row in range(2):
        apart = rotate(q[row], k[row], cos, sin, positions[row])
        assert all(torch.equal(t[row], a) for t, a in zip(together, apart, strict=True))


def test_scores_depend_on_distance_alone():
    cos, sin = (t for t in table(range(2000), dim=64))
    q, k, _, _ = random_call(torch.float64, dim=64, pairs=32, tokens=4)
    near, far = torch.arange(4), torch.arange(4) + 1900
    scores = [
        torch.einsum("bihd,bjhd->bhij", a, b.expand_as(a))
        for a, b in (rotate(q, k, cos, sin, p, pairing) for p in (near, far) for pairing in PAIRINGS)
    ]
    for moved, still in zip(scores[:3], scores[3:], strict=True):
        assert torch.allclose(moved, still, atol=1e-5)


def test_pairings_give_equal_scores_where_the_output_alone_is_moved():
    cos, sin = table(range(50), dim=16)
    q, k, _, _ = random_call(torch.float64, dim=16, pairs=8)
    a, b = (rotate(q, k, cos, sin, torch.arange(40, 45), p) for p in ("interleaved", "interleaved-in-half-out"))
    assert not torch.allclose(a[0], b[0])
    assert torch.allclose((a[0] * a[1]).sum(-1), (b[0] * b[1]).sum(-1))


@pytest.mark.parametrize("dtype", TORCH_DTYPES)
@pytest.mark.parametrize("part", ["first", "last"])
def test_channels_that_do_not_turn_keep_their_bits(dtype, part):
    q, k, cos, sin = random_call(dtype, dim=11)
    q[..., ::2] = torch.tensor([-0.0, float("nan"), float("inf"), 5e-8, -1e-3, 0.0]).to(dtype)
    still = slice(8, None) if part == "first" else slice(0, 3)
    integers = {8: torch.int64, 4: torch.int32, 2: torch.int16}[q.element_size()]
    out, _ = rotate(q, k, cos, sin, part=part)
    assert torch.equal(out[..., still].contiguous().view(integers), q[..., still].contiguous().view(integers))


def test_a_proportional_table_turns_pairs_across_the_whole_head():
    rope = Rope(512, rotary_dim=128, part="proportional")
    cos, sin = (torch.from_numpy(t) for t in LayerGroup("full_attention", rope).table([7]))
    basis = torch.eye(512)[:, None, :]
    out = rotate(basis, None, cos, sin, torch.zeros(512, dtype=torch.int64), part=rope.part)[0][:, 0]
    assert out[0].nonzero().flatten().tolist() == [0, 256]
    live = [channel for channel in range(512) if not torch.equal(out[channel], basis[channel, 0])]
    assert live == [*range(64), *range(256, 320)]


def test_one_of_q_and_k_may_be_absent():
    q, k, cos, sin = random_call(torch.float32)
    both = rotate(q, k, cos, sin)
    assert torch.equal(rotate(q, None, cos, sin)[0], both[0])
    assert rotate(q, None, cos, sin)[1] is None
    assert torch.equal(rotate(None, k, cos, sin)[1], both[1])


def test_q_and_k_may_differ_in_dtype_and_width():
    q, k, cos, sin = random_call(torch.float32, dim=11)
    k = k[..., :8].bfloat16()
    out = rotate(q, k, cos, sin, part="last")
    assert torch.equal(out[0], rotate(q, None, cos, sin, part="last")[0])
    assert torch.equal(out[1], rotate(None, k, cos, sin)[1])


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("dtype", TORCH_DTYPES)
def test_strides_change_nothing(pairing, dtype):
    q, k, cos, sin = random_call(dtype, dim=12)
    fused = torch.randn(2, 5, 7, 12).to(dtype)
    views = (
        q.transpose(1, 2).contiguous().transpose(1, 2),
        fused[:, :, 2:5],
        q.flip(-1)[..., ::1],
        q.expand(2, 5, 3, 12),
    )
    for view in views:
        out, _ = rotate(view, k, cos, sin, pairing=pairing)
        assert torch.equal(out, rotate(view.contiguous().clone(), k, cos, sin, pairing=pairing)[0])


def test_inputs_are_left_alone():
    q, k, cos, sin = random_call(torch.float32)
    before = [t.clone() for t in (q, k, cos, sin)]
    rotate(q, k, cos, sin)
    rotate(*(t.numpy() for t in (q, k, cos, sin)))
    assert all(torch.equal(a, b) for a, b in zip(before, (q, k, cos, sin), strict=True))


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("part", ["first", "last"])
def test_every_channel_of_new_memory_is_written(pairing, part, nan_memory):
    q, k, cos, sin = random_call(torch.float32, dim=11)
    for arrays in ((q, k, cos, sin), tuple(t.numpy() for t in (q, k, cos, sin))):
        assert not any(np.isnan(np.asarray(out)).any() for out in rotate(*arrays, pairing=pairing, part=part))


def test_infinities_and_nan_go_through():
    cos, sin = np.full((1, 1), 0.6, np.float32), np.full((1, 1), 0.8, np.float32)
    for x in (
        np.array([[[np.inf, 1.0]]]),
        np.array([[[np.nan, 1.0]]], np.float16),
        np.array([[[6e4, 6e4]]], np.float16),
    ):
        made, _ = rotate(x, None, cos, sin)
        eager, _ = rotate(torch.from_numpy(x), None, torch.from_numpy(cos), torch.from_numpy(sin))
        assert np.array_equal(made, eager.numpy(), equal_nan=True)
        assert not np.isfinite(made).all()


def test_meta_tensors_have_shapes_only():
    q, k, cos, sin = (t.to("meta") for t in random_call(torch.bfloat16))
    out = rotate(q, k, cos, sin, torch.empty(5, dtype=torch.int64, device="meta"))
    assert [o.shape for o in out] == [q.shape, k.shape]
    assert all(o.is_meta and o.dtype == torch.bfloat16 for o in out)
