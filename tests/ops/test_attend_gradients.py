"""Gradients of `attend`: by differences, by another way of writing it, and none of the second order."""

import numpy as np
import pytest
import torch
from attend_calls import FLOATS, calls, small_blocks, to_torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ordinate.ops import attend


def leaves(call):
    """The floats of a call as float64 leaves, by name."""
    return {name: call[name].double().requires_grad_() for name in FLOATS if name in call}


@settings(max_examples=40, deadline=None)
@given(calls(), st.integers(1, 4))
def test_gradients_agree_with_differences(call, rows):
    call = to_torch(call)
    floats = {name: x for name, x in leaves(call).items() if x.numel()}
    assume(floats)

    def function(*values):
        out, lse = attend(**call | dict(zip(floats, values, strict=True)), return_lse=True, backend="eager")
        return out, lse.masked_fill(lse == -torch.inf, 0.0)

    with small_blocks(rows):
        assert torch.autograd.gradcheck(function, tuple(floats.values()), fast_mode=True)


def test_gradients_agree_with_differences_in_every_direction():
    torch.manual_seed(0)
    shapes = {
        "q": (1, 3, 2, 4),
        "k": (1, 4, 1, 4),
        "v": (1, 4, 1, 2),
        "bias": (2, 3, 1),
        "slopes": (2,),
        "by_distance": (2, 5),
        "sink_logits": (2,),
        "query_scale": (3,),
    }
    floats = {name: torch.randn(shape, dtype=torch.float64, requires_grad=True) for name, shape in shapes.items()}
    angles = torch.rand(4, 2)
    fixed = {"cos": angles.cos(), "sin": angles.sin(), "causal": True, "softcap": 2.0, "reach": 2, "return_lse": True}

    def function(*values):
        return attend(**dict(zip(floats, values, strict=True)), **fixed, backend="eager")

    with small_blocks():
        assert torch.autograd.gradcheck(function, tuple(floats.values()))


def test_gradients_reach_the_table():
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 5, 2, 4) for _ in range(3))
    cos, sin = (torch.rand(5, 2, requires_grad=True) for _ in range(2))
    upstream = torch.randn(1, 5, 2, 4)
    (attend(q, k, v, cos=cos, sin=sin, causal=True, backend="eager") * upstream).sum().backward()
    first, second = (torch.stack([x[..., :2], x[..., 2:]]) for x in (q, k))
    c, s = (t.detach().clone().requires_grad_() for t in (cos, sin))
    turned = [
        torch.cat([a * c[:, None] - b * s[:, None], a * s[:, None] + b * c[:, None]], -1) for a, b in (first, second)
    ]
    (attend(*turned, v, causal=True, backend="eager") * upstream).sum().backward()
    assert torch.allclose(cos.grad, c.grad, atol=1e-6)
    assert torch.allclose(sin.grad, s.grad, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_gradients_of_half_precision_are_those_of_float32_rounded(dtype):
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 40, heads, 16).to(dtype) for heads in (4, 2, 2))
    bias, upstream = torch.randn(4, 40, 1).to(dtype), torch.randn(1, 40, 4, 16).to(dtype)
    made = []
    for wide in (False, True):
        inputs = [(x.float() if wide else x).detach().requires_grad_() for x in (q, k, v, bias)]
        with small_blocks(7):
            out = attend(*inputs[:3], bias=inputs[3], causal=True, backend="eager")
        made.append(torch.autograd.grad(out, inputs, upstream.to(out.dtype)))
    for half, full in zip(*made, strict=True):
        assert half.dtype == dtype
        assert torch.equal(half, full.to(dtype))


def test_only_what_is_asked_for_is_made():
    q, k, v = (torch.randn(1, 5, 2, 4) for _ in range(3))
    slopes = torch.rand(2, requires_grad=True)
    attend(q, k, v, causal=True, slopes=slopes).sum().backward()
    assert slopes.grad.shape == (2,)
    assert q.grad is None
    out, lse = attend(q, k, v.requires_grad_(), return_lse=True, backend="eager")
    (lse.sum() + out.sum()).backward()
    # The weights of each query and head sum to 1.
    assert torch.allclose(v.grad.sum(1), torch.full((1, 2, 4), 5.0))


def test_a_query_that_sees_nothing_has_no_gradient():
    q, k, v = (torch.randn(1, 3, 1, 4, requires_grad=True) for _ in range(3))
    mask = torch.tensor([[True, False, True], [False, False, False], [True, True, False]])
    out, lse = attend(q, k, v, mask=mask, return_lse=True, backend="eager")
    (out.square().sum() + lse.exp().sum()).backward()
    assert torch.equal(out[0, 1], torch.zeros(1, 4))
    assert all(x.grad.isfinite().all() for x in (q, k, v))
    assert not q.grad[0, 1].any()
    assert q.grad[0, 0].any()


def test_the_second_derivative_is_refused():
    q, k, v = (torch.randn(1, 3, 1, 4, requires_grad=True) for _ in range(3))
    (first,) = torch.autograd.grad(attend(q, k, v, backend="eager").square().sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_packed_gradients_are_those_of_each_sequence():
    torch.manual_seed(0)
    q, k, v = (torch.randn(9, 2, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    borders = torch.tensor([0, 4, 4, 9])
    attend(q, k, v, causal=True, cu_seqlens_q=borders, cu_seqlens_k=borders, backend="eager").square().sum().backward()
    together = [x.grad.clone() for x in (q, k, v)]
    for x in (q, k, v):
        x.grad = None
    for part in (slice(0, 4), slice(4, 9)):
        attend(q[None, part], k[None, part], v[None, part], causal=True, backend="eager").square().sum().backward()
    assert all(np.allclose(x.grad, whole, rtol=0, atol=1e-12) for x, whole in zip((q, k, v), together, strict=True))
