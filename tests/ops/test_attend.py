"""What `attend` computes: the reference against one logit at a time, every backend against the reference."""

import numpy as np
import pytest
import torch
from attend_calls import backends, calls, expected, small_blocks, to_torch, tolerance
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from ordinate.errors import Unavailable
from ordinate.ops import attend

BACKENDS = backends()


def close(out, right, near, v):
    """Whether an output is within a share of the largest value; infinities must be the same."""
    largest = max(1.0, float(np.abs(v).max(initial=0)))
    return np.allclose(out, right, rtol=0, atol=largest * near)


@settings(max_examples=100, deadline=None)
@given(calls())
def test_the_reference_is_the_formula(call):
    out, lse = attend(**call, return_lse=True, backend="reference")
    right, logarithms = expected(**call)
    assert out.dtype == lse.dtype == np.float64
    assert np.allclose(out, right, rtol=1e-12, atol=1e-12)
    assert np.allclose(lse, logarithms, rtol=1e-12, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(calls("float32"))
def test_the_reference_is_rounded_once(call):
    out, lse = attend(**call, return_lse=True, backend="reference")
    right, logarithms = expected(**call)
    assert out.dtype == lse.dtype == np.float32
    assert np.allclose(out, right, rtol=2**-24, atol=1e-12)
    assert np.allclose(lse, logarithms, rtol=2**-24, atol=1e-12)


@settings(max_examples=150, deadline=None)
@given(calls(), st.integers(1, 6))
def test_eager_is_the_reference_in_float64(call, rows):
    right, logarithms = attend(**call, return_lse=True, backend="reference")
    with small_blocks(rows):
        out, lse = attend(**to_torch(call), return_lse=True, backend="eager")
    assert out.dtype == lse.dtype == torch.float64
    assert np.allclose(out, right, rtol=1e-12, atol=1e-12)
    assert np.allclose(lse, logarithms, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=60, deadline=None)
@given(call=calls("float32"))
def test_every_backend_is_within_its_tolerance(backend, dtype, call):
    given_call = to_torch(call, dtype)
    wide = call | {name: given_call[name].double().numpy() for name in ("q", "k", "v")}
    right, logarithms = attend(**wide, return_lse=True, backend="reference")
    try:
        out, lse = attend(**given_call, return_lse=True, backend=backend)
    except Unavailable:  # a compiled backend may leave a kind of call to eager
        assert backend not in ("reference", "eager")
        reject()
    assert out.dtype == dtype
    assert lse.dtype == torch.float32
    near, near_lse = tolerance(dtype, call)
    assert close(out.double(), right, near, wide["v"])
    assert np.allclose(lse.double(), logarithms, rtol=4e-6, atol=near_lse)
    assert torch.equal(attend(**given_call, backend=backend), out)


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=10_000, deadline=None)
@given(call=calls("float32"), rows=st.integers(1, 6))
def test_ten_thousand_calls_are_the_reference(backend, call, rows):
    right, logarithms = attend(**call, return_lse=True, backend="reference")
    try:
        with small_blocks(rows):
            out, lse = attend(**to_torch(call), return_lse=True, backend=backend)
    except Unavailable:
        assert backend not in ("reference", "eager")
        reject()
    assert close(out, right, tolerance(torch.float32, call)[0], call["v"])
    assert np.allclose(lse, logarithms, rtol=4e-6, atol=4e-6)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dim, v_dim", [(8, 8), (64, 64), (72, 72), (80, 80), (96, 96), (192, 128), (256, 256)])
def test_heads_of_every_usual_width(backend, dim, v_dim):
    torch.manual_seed(dim)
    q, k, v = torch.randn(1, 37, 4, dim), torch.randn(1, 130, 2, dim), torch.randn(1, 130, 2, v_dim)
    out = attend(q, k, v, causal=True, backend=backend)
    right = attend(q.double().numpy(), k.double().numpy(), v.double().numpy(), causal=True, backend="reference")
    assert close(out, right, tolerance(torch.float32, {})[0], v.numpy())


@pytest.mark.parametrize("backend", BACKENDS)
def test_strides_change_nothing(backend):
    torch.manual_seed(0)
    fused = torch.randn(2, 33, 8, 16)
    q, k, v = fused[:, :, :4], fused[:, :, 4:6], fused[:, :, 6:]
    out = attend(q, k, v, causal=True, backend=backend)
    assert torch.equal(out, attend(q.clone(), k.clone(), v.clone(), causal=True, backend=backend))
    turned = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))
    assert torch.allclose(out, attend(*turned, causal=True, backend=backend), rtol=0, atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_number_of_new_memory_is_written(backend, nan_memory):
    q, k, v = torch.randn(2, 33, 4, 16), torch.randn(2, 40, 2, 16), torch.randn(2, 40, 2, 8)
    with small_blocks(4):
        out, lse = attend(q, k, v, causal=True, window=(3, None), return_lse=True, backend=backend)
    assert not out.isnan().any()
    assert not lse.isnan().any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_memory_without_a_key_is_never_used(backend):
    q, k, v = torch.randn(2, 3, 4, 16), torch.randn(2, 40, 2, 16), torch.randn(2, 40, 2, 8)
    lengths, positions = torch.tensor([17, 0]), torch.arange(40)
    right = attend(q[:1], k[:1, :17], v[:1, :17], causal=True, backend=backend)
    for x in (k, v):
        x[0, 17:], x[1] = float("nan"), float("nan")
    out = attend(q, k, v, causal=True, key_lengths=lengths, backend=backend)
    assert torch.allclose(out[0], right[0], rtol=0, atol=1e-6)
    assert torch.equal(out[1], torch.zeros_like(out[1]))
    positions[17:] = -1
    places = {"query_positions": torch.arange(14, 17), "key_positions": positions}
    out = attend(q[:1], k[:1], v[:1], causal=True, **places, backend=backend)
    assert torch.allclose(out, right, rtol=0, atol=1e-6)


def test_inputs_are_left_alone():
    given_call = {"q": torch.randn(1, 5, 2, 4), "k": torch.randn(1, 5, 1, 4), "v": torch.randn(1, 5, 1, 4)}
    given_call |= {"cos": torch.rand(5, 2), "sin": torch.rand(5, 2), "bias": torch.randn(5, 5)}
    before = {name: x.clone() for name, x in given_call.items()}
    attend(**given_call)
    attend(**{name: x.numpy() for name, x in given_call.items()})
    assert all(torch.equal(x, given_call[name]) for name, x in before.items())


def test_autocast_changes_nothing():
    q, k, v = (torch.randn(1, 9, 2, 16, requires_grad=True) for _ in range(3))
    plain = attend(q, k, v, causal=True, backend="eager")
    gradient = torch.autograd.grad(plain.square().sum(), q)[0]
    with torch.autocast("cpu", torch.bfloat16):
        out = attend(q, k, v, causal=True, backend="eager")
        assert torch.equal(torch.autograd.grad(out.square().sum(), q)[0], gradient)
    assert torch.equal(out, plain)


def test_meta_tensors_have_shapes_only():
    q, k, v = (torch.empty(2, 5, heads, 8, device="meta", dtype=torch.bfloat16) for heads in (4, 2, 2))
    out, lse = attend(q, k, v, causal=True, window=(2, None), return_lse=True)
    assert out.is_meta
    assert lse.is_meta
    assert (out.shape, out.dtype, lse.shape, lse.dtype) == (q.shape, q.dtype, (2, 4, 5), torch.float32)
