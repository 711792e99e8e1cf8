"""The gradient of `rotate` is the rotation by the negative angle."""

import numpy as np
import pytest
import torch

from ordinate.ops import rotate

OPTIONS = [
    {"pairing": pairing, "part": part, "inverse": inverse}
    for pairing in ("half", "interleaved", "interleaved-in-half-out")
    for part in ("first", "last")
    for inverse in (False, True)
]


def random_tables(tokens=3, pairs=2, factor=1.25):
    angles = torch.rand(tokens, pairs, dtype=torch.float64)
    return (factor * angles.cos()).float(), (factor * angles.sin()).float()


@pytest.mark.parametrize("options", OPTIONS)
def test_gradients_agree_with_differences(options):
    cos, sin = random_tables()
    q = torch.randn(2, 3, 2, 5, dtype=torch.float64, requires_grad=True)
    k = torch.randn(2, 3, 1, 5, dtype=torch.float64, requires_grad=True)
    positions = torch.tensor([[2, 0, 0], [1, 1, 2]])
    assert torch.autograd.gradcheck(lambda q, k: rotate(q, k, cos, sin, positions, **options), (q, k))
    assert torch.autograd.gradgradcheck(lambda q, k: rotate(q, k, cos, sin, positions, **options), (q, k))


@pytest.mark.parametrize("options", OPTIONS)
def test_the_gradient_is_the_reference_turned_back(options):
    cos, sin = random_tables()
    q = torch.randn(2, 3, 2, 5, dtype=torch.float64, requires_grad=True)
    out, _ = rotate(q, None, cos, sin, **options)
    upstream = torch.randn_like(out)
    out.backward(upstream)
    back = options | {"inverse": not options["inverse"]}
    turned, _ = rotate(upstream.numpy(), None, cos.numpy(), sin.numpy(), **back)
    assert np.allclose(q.grad, turned, rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_gradients_of_half_precision_are_float32_arithmetic_rounded_once(dtype):
    cos, sin = random_tables()
    q = torch.randn(3, 2, 5).to(dtype).requires_grad_()
    out, _ = rotate(q, None, cos, sin)
    upstream = torch.randn(3, 2, 5).to(dtype)
    out.backward(upstream)
    assert q.grad.dtype == dtype
    wide, _ = rotate(upstream.float(), None, cos, sin, inverse=True)
    assert torch.equal(q.grad, wide.to(dtype))


def test_gradients_keep_the_length():
    angles = torch.rand(3, 2, dtype=torch.float64)
    q = torch.randn(3, 2, 4, requires_grad=True)
    out, _ = rotate(q, None, angles.cos().float(), angles.sin().float(), pairing="interleaved")
    upstream = torch.randn(3, 2, 4)
    out.backward(upstream)
    assert torch.allclose(q.grad.norm(dim=-1), upstream.norm(dim=-1), rtol=1e-6)


def test_gradients_reach_the_table():
    cos, sin = (t.requires_grad_() for t in random_tables(factor=1.0))
    q = torch.randn(1, 3, 1, 4, dtype=torch.float64)
    out, _ = rotate(q, None, cos, sin, torch.tensor([0, 2, 2]))
    out.sum().backward()
    first, second = q[0, :, 0, :2], q[0, :, 0, 2:]
    rows = (first + second)[0], torch.zeros(2), (first + second)[1:].sum(0)
    assert torch.allclose(cos.grad, torch.stack(rows).float(), atol=1e-6)
    rows = (first - second)[0], torch.zeros(2), (first - second)[1:].sum(0)
    assert torch.allclose(sin.grad, torch.stack(rows).float(), atol=1e-6)
