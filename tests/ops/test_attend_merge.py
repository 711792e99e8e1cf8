"""Attention to parts of the keys, merged, is attention to all of them."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.errors import InputError
from ordinate.ops import attend, merge


def parts_of(q, k, v, borders, **options):
    """`attend` over each range of keys, at their own positions."""
    key_positions = torch.arange(k.shape[1])
    query_positions = torch.arange(q.shape[1]) + k.shape[1] - q.shape[1]
    made = []
    for start, end in zip([0, *borders], [*borders, k.shape[1]], strict=True):
        places = {"query_positions": query_positions, "key_positions": key_positions[start:end]}
        made.append(attend(q, k[:, start:end], v[:, start:end], return_lse=True, **places, **options))
    return zip(*made, strict=True)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=4), st.booleans(), st.integers(0, 2**32 - 1))
def test_parts_give_the_whole(borders, causal, seed):
    generator = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(2, n, 2, 4, generator=generator, dtype=torch.float64) for n in (5, 9, 9))
    window = (3, 2) if seed % 2 else None
    outs, lses = parts_of(q, k, v, sorted(borders), causal=causal, window=window)
    out, lse = merge(outs, lses)
    right, logarithms = attend(q, k, v, causal=causal, window=window, return_lse=True)
    assert torch.allclose(out, right, rtol=0, atol=1e-12)
    assert torch.allclose(lse, logarithms, rtol=0, atol=1e-12)
    out, lse = merge([x.numpy() for x in outs], [x.numpy() for x in lses])
    assert np.allclose(out, right, rtol=0, atol=1e-12)
    assert np.allclose(lse, logarithms, rtol=0, atol=1e-12)


def test_packed_parts_give_the_whole():
    q, k, v = (torch.randn(7, 2, 4) for _ in range(3))
    borders = torch.tensor([0, 3, 7])
    both = {"cu_seqlens_q": borders, "cu_seqlens_k": borders, "return_lse": True}
    right, logarithms = attend(q, k, v, **both)
    half = torch.arange(7) % 2
    places = [torch.where(half == part, torch.arange(7), -1) for part in (0, 1)]
    made = [attend(q, k, v, query_positions=torch.arange(7), key_positions=p, **both) for p in places]
    out, lse = merge(*zip(*made, strict=True))
    assert torch.allclose(out, right, atol=1e-6)
    assert torch.allclose(lse, logarithms, atol=1e-6)


def test_order_and_grouping_do_not_matter():
    q, k, v = (torch.randn(1, n, 2, 4, dtype=torch.float64) for n in (3, 8, 8))
    outs, lses = parts_of(q, k, v, [2, 5])
    at_once, _ = merge(outs, lses)
    first = merge(outs[:2], lses[:2])
    assert torch.allclose(at_once, merge([outs[2], first[0]], [lses[2], first[1]])[0], atol=1e-14)
    assert torch.allclose(at_once, merge(outs[::-1], lses[::-1])[0], atol=1e-14)


def test_one_part_is_itself_and_nothing_seen_stays_nothing():
    out, lse = torch.randn(1, 3, 2, 4), torch.randn(1, 2, 3)
    out[0, 1, 0], lse[0, 0, 1] = 0, -torch.inf
    same, logarithms = merge([out], [lse])
    assert torch.allclose(same, out, rtol=0, atol=1e-6)
    assert torch.allclose(logarithms, lse, rtol=0, atol=1e-6)
    twice, logarithms = merge([out, out], [lse, lse])
    assert torch.allclose(twice, out, rtol=0, atol=1e-6)
    assert torch.allclose(logarithms, lse + np.log(2), rtol=0, atol=1e-6)
    assert logarithms[0, 0, 1] == -torch.inf


def test_logits_beyond_the_range_of_exp_do_no_harm():
    out, lse = merge(
        [torch.ones(1, 1, 1), torch.zeros(1, 1, 1)], [torch.full((1, 1), 500.0), torch.full((1, 1), 499.0)]
    )
    assert out.item() == pytest.approx(1 / (1 + np.exp(-1)), rel=1e-6)
    assert lse.item() == pytest.approx(500 + np.log1p(np.exp(-1)), rel=1e-6)


def test_gradients_flow_through_to_every_part():
    q, k, v = (torch.randn(1, n, 1, 2, dtype=torch.float64, requires_grad=True) for n in (3, 4, 4))
    assert torch.autograd.gradcheck(lambda q, k, v: merge(*parts_of(q, k, v, [1])), (q, k, v))
    outs, lses = [torch.randn(1, 1, 1, requires_grad=True) for _ in range(2)], [torch.full((1, 1), -torch.inf)] * 2
    lses = [lse.clone().requires_grad_() for lse in lses]
    out, lse = merge(outs, lses)
    (out.sum() + lse.exp().sum()).backward()
    assert all(x.grad.isfinite().all() for x in (*outs, *lses))


def test_half_precision_is_merged_in_float32():
    outs = [torch.randn(5, 2, 4).bfloat16() for _ in range(2)]
    lses = [torch.randn(2, 5) for _ in range(2)]
    out, lse = merge(outs, lses)
    assert lse.dtype == torch.float32
    assert torch.equal(out, merge([x.float() for x in outs], lses)[0].bfloat16())


OUT, LSE = torch.zeros(1, 3, 2, 4), torch.zeros(1, 2, 3)


@pytest.mark.parametrize(
    "outs, lses, message",
    [
        ([], [], "one at least, got 0 and 0"),
        ([OUT], [LSE, LSE], "of the same parts, one at least, got 1 and 2"),
        ([OUT, OUT.numpy()], [LSE, LSE], r"merge needs NumPy arrays only .* outs\[1\] ndarray"),
        ([OUT[0, 0]], [LSE], r"outs must have shape .* got \[2, 4\]"),
        ([OUT, OUT[:, :2]], [LSE, LSE], r"outs\[1\] must have shape \[1, 3, 2, 4\], got \[1, 2, 2, 4\]"),
        ([OUT], [LSE.mT], r"lses\[0\] must have shape \[1, 2, 3\], got \[1, 3, 2\]"),
        ([OUT, OUT.half()], [LSE, LSE], r"outs\[1\] must be .* got float16"),
        ([OUT], [LSE.bfloat16()], r"lses\[0\] must be one of float32, float64 and as the first, got bfloat16"),
    ],
)
def test_parts_that_do_not_fit_are_refused(outs, lses, message):
    with pytest.raises(InputError, match=message):
        merge(outs, lses)
