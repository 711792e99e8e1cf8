"""The short way of `attend`: the same bits as the long one, and only where it may be taken."""

import math

import pytest
import torch

from ordinate.ops import attend
from ordinate.ops.attend.plain import attend_plain
from ordinate.ops.backends import compiled

pytestmark = pytest.mark.skipif(compiled is None, reason="the kernels are not built here")


def drawn(dtype=torch.float32, batch=2, queries=3, keys=9, heads=4, shared=2, dim=8):
    generator = torch.Generator().manual_seed(0)
    shapes = ((queries, heads), (keys, shared), (keys, shared))
    # Views by stride, as a model with heads outside of tokens has them.
    return [torch.randn(batch, h, n, dim, generator=generator).to(dtype).transpose(1, 2) for n, h in shapes]


def plain(q, k, v, causal=True, softmax_scale=None, window=None, mask=None):
    return attend_plain(q, k, v, causal, softmax_scale, window, mask)


MASK = torch.rand(2, 1, 1, 9, generator=torch.Generator().manual_seed(1)) > 0.3


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("queries", [0, 1, 3, 9])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"causal": False},
        {"softmax_scale": 0.3},
        {"window": (2, None)},
        {"window": (None, 0), "causal": False},
        {"mask": MASK},
        {"mask": MASK.expand(2, 4, 1, 9)},
    ],
)
def test_it_gives_the_bits_of_the_long_way(dtype, queries, options):
    q, k, v = drawn(dtype, queries=queries)
    options = {"causal": True} | options
    # A backend's name is not for the short way.
    expected = attend(q, k, v, **options, backend="cpu")
    found = plain(q, k, v, **options)
    assert found is not None
    assert torch.equal(found, expected)
    assert torch.equal(attend(q, k, v, **options), expected)


def with_gradient(x):
    return x.detach().requires_grad_()


q, k, v = drawn()
ASIDE = {
    "no tensors": (q.numpy(), k.numpy(), v.numpy()),
    "nothing": (q, None, v),
    "three axes": (q[0], k[0], v[0]),
    "float64": (q.double(), k.double(), v.double()),
    "two dtypes": (q, k.bfloat16(), v),
    "heads that do not fit": (q[:, :, :3], k, v),
    "another batch": (q[:1], k, v),
    "other keys than values": (q, k, v[:, 1:]),
    "another dim": (q[..., 1:], k, v),
    "a gradient": (with_gradient(q), k, v),
    "a gradient of v": (q, k, with_gradient(v)),
    "a negated view": (q, torch._neg_view(k), v),
    "meta": (q.to("meta"), k.to("meta"), v.to("meta")),
}


@pytest.mark.parametrize("name", ASIDE)
def test_other_tensors_are_left_to_the_long_way(name):
    assert plain(*ASIDE[name]) is None


@pytest.mark.parametrize(
    "options",
    [
        {"causal": 1},
        {"softmax_scale": 1},
        {"softmax_scale": -1.0},
        {"softmax_scale": math.nan},
        {"softmax_scale": math.inf},
        {"window": [1, 1]},
        {"window": (1,)},
        {"window": (-1, None)},
        {"window": (True, None)},
        {"mask": MASK.float()},
        {"mask": MASK[0]},
        {"mask": MASK[..., 1:]},
    ],
)
def test_other_options_are_left_to_the_long_way(options):
    assert plain(q, k, v, **options) is None


def test_a_gradient_is_no_matter_where_none_is_recorded():
    with torch.no_grad():
        assert torch.equal(plain(with_gradient(q), k, v), plain(q, k, v))


def test_the_result_lies_where_q_does_whatever_the_default_device():
    q, k, v = (torch.randn(1, 3, 2, 8) for _ in range(3))
    right = attend(q, k, v, causal=True)
    torch.set_default_device("meta")
    try:
        out = attend(q, k, v, causal=True)
    finally:
        torch.set_default_device(None)
    assert out.device.type == "cpu"
    assert torch.equal(out, right)
