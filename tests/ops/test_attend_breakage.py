"""What broke attend once: lazily negated gradients, long chains of sums, blind rows, huge logits."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ordinate.errors import InputError
from ordinate.ops import attend
from ordinate.ops.backends import compiled

if compiled is None:
    pytest.skip("the compiled kernels are not part of this installation", allow_module_level=True)


def leaves(*shapes):
    torch.manual_seed(0)
    return [torch.randn(shape, requires_grad=True) for shape in shapes]


def test_a_negated_view_of_a_gradient_is_the_negative(instruction_set):
    q, k, v = leaves(*[(1, 20, 2, 8)] * 3)
    upstream, upstream_lse = torch.randn(1, 20, 2, 8, dtype=torch.cfloat), torch.randn(1, 2, 20, dtype=torch.cfloat)
    made = []
    for backend in ("cpu", "eager"):
        out, lse = attend(q, k, v, causal=True, return_lse=True, backend=backend)
        assert upstream.conj().imag.is_neg()
        made.append(torch.autograd.grad((out, lse), (q, k, v), (upstream.conj().imag, upstream_lse.conj().imag)))
    for mine, right in zip(*made, strict=True):
        assert torch.allclose(mine, right, rtol=0, atol=4e-6)


@pytest.mark.parametrize("queries", [1, 64])
def test_thousands_of_equal_values_are_their_mean(instruction_set, queries):
    """Each weight is 1 / 8192: one chain of sums would be off by 8e-5."""
    q, k, v = torch.zeros(1, queries, 1, 16), torch.zeros(1, 8192, 1, 16), torch.full((1, 8192, 1, 16), 0.3)
    assert torch.allclose(attend(q, k, v, backend="cpu"), v[:, :queries], rtol=8e-6, atol=0)


def test_thousands_of_equal_gradients_are_their_sum(instruction_set):
    q, k, v = torch.zeros(1, 8192, 1, 16), torch.zeros(1, 64, 1, 16), torch.zeros(1, 64, 1, 16, requires_grad=True)
    attend(q, k, v, backend="cpu").backward(torch.full((1, 8192, 1, 16), 0.3))
    assert torch.allclose(v.grad, torch.full_like(v, 0.3 * 8192 / 64), rtol=8e-6, atol=0)


def test_slopes_that_share_memory_have_their_own_gradient(instruction_set):
    q, k, v = leaves(*[(2, 20, 4, 8)] * 3)
    slopes = torch.rand(4, requires_grad=True)
    made = []
    for backend in ("cpu", "eager"):
        out = attend(q, k, v, causal=True, slopes=slopes.expand(2, 4), backend=backend)
        made.append(torch.autograd.grad(out.square().sum(), slopes)[0])
    assert torch.allclose(*made, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("sinks", [None, torch.zeros(1)])
def test_a_bias_that_hides_all_gives_nothing(backend, sinks):
    q, k, v = torch.ones(1, 2, 1, 4), torch.ones(1, 3, 1, 4), torch.ones(1, 3, 1, 1)
    bias = torch.zeros(1, 1, 2, 3)
    bias[:, :, 1] = -math.inf
    inputs = [x.requires_grad_() for x in (q, k, v)]
    out, lse = attend(*inputs, bias=bias, sink_logits=sinks, return_lse=True, backend=backend)
    assert out[0, 1, 0, 0] == 0
    assert lse[0, 0, 1] == (-math.inf if sinks is None else 0)
    assert all(x.isfinite().all() for x in torch.autograd.grad(out.sum(), inputs))


@pytest.mark.parametrize("scale", [1.0, 30.0, 300.0])
@pytest.mark.parametrize("queries", [4, 40])
def test_recomputed_weights_sum_to_one_however_large_the_logits(instruction_set, queries, scale):
    torch.manual_seed(1)
    q = (torch.randn(1, queries, 2, 64) * scale).bfloat16()
    k, v = (torch.randn(1, 200, 2, 64).bfloat16().requires_grad_() for _ in "kv")
    angles = torch.outer(torch.arange(200.0), 10000 ** (-torch.arange(32) / 32))
    out = attend(q, k, v, causal=True, cos=angles.cos(), sin=angles.sin(), backend="cpu")
    (gradient,) = torch.autograd.grad(out, v, torch.ones_like(out))
    sums = gradient.double().sum(1)[0, :, 0]
    assert torch.allclose(sums, torch.full_like(sums, queries), rtol=0.01, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_gradients_around_an_infinite_key_are_finite_where_the_definition_is(instruction_set, dtype):
    torch.manual_seed(0)
    q, k, v = ((torch.randn(1, n, 1, 32).abs() + 0.1).to(dtype).requires_grad_() for n in (64, 300, 300))
    with torch.no_grad():
        k[0, 5, 0, 3] = -math.inf
    made = torch.autograd.grad(attend(q, k, v, backend="cpu").sum(), (q, k, v))
    wide = [x.detach().double().requires_grad_() for x in (q, k, v)]
    right = torch.autograd.grad(attend(*wide, backend="eager").sum(), wide)
    for mine, exact in zip(made, right, strict=True):
        assert torch.equal(mine.isfinite(), exact.isfinite())


@pytest.mark.parametrize("scale", [-1.7, 0.0])
def test_a_scale_that_is_not_positive_rounds_nothing(instruction_set, scale):
    torch.manual_seed(0)
    q, k, v = ((4 * torch.randn(1, n, 1, 32)).bfloat16() for n in (64, 512, 512))
    scales = torch.full((64,), scale)
    out, lse = attend(q, k, v, query_scale=scales, causal=True, return_lse=True, backend="cpu")
    wide = [x.double() for x in (q, k, v)]
    exact, logarithms = attend(*wide, query_scale=scales, causal=True, return_lse=True, backend="eager")
    assert torch.allclose(out.double(), exact, rtol=0, atol=2**-8 * float(v.abs().max()))
    assert torch.allclose(lse.double(), logarithms, rtol=4e-6, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scale", [1e4, 1e8])
def test_huge_logits_choose_the_largest(instruction_set, dtype, scale):
    torch.manual_seed(0)
    x = torch.randn(1, 40, 1, 32).to(dtype)
    out = attend(x, x, x, softmax_scale=scale, backend="cpu")
    exact = attend(*[x.double()] * 3, softmax_scale=scale, backend="eager")
    assert torch.allclose(out.double(), exact, rtol=0, atol=0.02)


def test_a_second_derivative_is_refused_whatever_the_first_depended_on():
    (x,) = leaves((1, 5, 1, 4))
    (gradient,) = torch.autograd.grad(attend(x, x, x, causal=True, backend="cpu").sum(), x, create_graph=True)
    assert gradient.requires_grad
    with pytest.raises(RuntimeError, match="attend is differentiable once"):
        gradient.pow(2).sum().backward()


@given(st.integers(2**62, 2**80))
def test_a_window_beyond_every_position_is_none(reach):
    q = torch.ones(1, 3, 1, 4)
    for backend in ("cpu", "eager"):
        assert torch.equal(attend(q, q, q, window=(reach, None), keep_first=reach, backend=backend), q)


def slopes_gradient(run, dtype, backend):
    """Of queries that stand thousands past their keys."""
    q, k, v, upstream = (torch.randn(1, 64, 4, 64, generator=torch.Generator().manual_seed(i)) for i in range(4))
    q, k, v, upstream = (x.bfloat16().to(dtype) for x in (q, k, v, upstream))
    slopes = torch.full((4,), 0.02, dtype=torch.promote_types(dtype, torch.float32), requires_grad=True)
    places = {"query_positions": torch.arange(64) + 4000, "key_positions": torch.arange(64)}
    out = run(q, k, v, causal=True, slopes=slopes, backend=backend, **places)
    assert out.dtype == dtype
    return torch.autograd.grad(out, slopes, upstream)[0]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_terms_get_gradients_of_an_output_that_is_not_rounded(instruction_set, dtype):
    """The summands are all multiplied by thousands: 63 % of the sum was rounding."""
    right = slopes_gradient(attend, torch.float64, "eager")
    assert (slopes_gradient(attend, dtype, "cpu") - right).abs().max() <= 2e-3 * right.abs().max()


def test_terms_get_the_same_gradients_in_a_graph(instruction_set):
    graph = torch.compile(attend, fullgraph=True, backend="aot_eager")
    made = slopes_gradient(graph, torch.bfloat16, "cpu")
    assert torch.equal(made, slopes_gradient(attend, torch.bfloat16, "cpu"))


@pytest.mark.parametrize("name", ["softcap", "softmax_scale"])
@pytest.mark.parametrize("value", [1e-300, 1e300, 10**60])
@pytest.mark.parametrize("backend", ["eager", "cpu", "reference"])
def test_scales_that_float32_does_not_hold_are_refused(name, value, backend):
    x = torch.ones(1, 2, 1, 4)
    with pytest.raises(InputError, match=f"{name} must be from .* to .*, what float32 holds, got 1e"):
        attend(x, x, x, backend=backend, **{name: value})
