"""What `attend` computes: the reference against one logit at a time, every backend against the reference."""

import numpy as np
import torch
from attend_calls import calls, expected, to_torch
from hypothesis import given, settings

from ordinate.ops import attend

WORDS = ("causal", "softmax_scale")


@settings(max_examples=100, deadline=None)
@given(calls())
def test_the_reference_is_the_formula(call):
    out, lse = attend(**call, return_lse=True, backend="reference")
    right, logarithms = expected(**call)
    assert out.dtype == lse.dtype == np.float64
    assert np.allclose(out, right, rtol=1e-12, atol=1e-12)
    assert np.allclose(lse, logarithms, rtol=1e-12, atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(calls())
def test_eager_is_the_reference_in_float64(call):
    right, logarithms = attend(**call, return_lse=True, backend="reference")
    out, lse = attend(**to_torch(call), return_lse=True, backend="eager")
    assert out.dtype == lse.dtype == torch.float64
    assert np.allclose(out, right, rtol=1e-12, atol=1e-12)
    assert np.allclose(lse, logarithms, rtol=1e-12, atol=1e-12)
