"""Fixtures for the operations: tolerances, and output memory that begins as NaN."""

import numpy as np
import pytest
import torch

from ordinate.ops.backends import compiled


@pytest.fixture(scope="session")
def tolerance():
    """How far a rotated channel may be from exact arithmetic on the same numbers, as a share of its pair's length.

    Two products and a sum in the arithmetic's precision (float64 in NumPy), and one rounding to the dtype.
    """
    return {
        "torch.float64": 2**-51,
        "torch.float32": 2**-22,
        "torch.bfloat16": 2**-8 + 2**-22,
        "torch.float16": 2**-11 + 2**-22,
        "float64": 2**-51,
        "float32": 2**-24 + 2**-51,
        "float16": 2**-11 + 2**-51,
    }


@pytest.fixture
def nan_memory(monkeypatch):
    """Whatever an operation leaves unwritten in new memory reads as NaN."""
    makers = {name: getattr(torch, name) for name in ("empty", "empty_like", "empty_strided")}
    numpy_makers = {name: getattr(np, name) for name in ("empty", "empty_like")}

    def filled(make):
        def make_and_fill(*args, **kwargs):
            made = make(*args, **kwargs)
            if isinstance(made, np.ndarray):
                made[...] = np.nan if made.dtype.kind == "f" else made
            elif made.is_floating_point() and not made.is_meta:
                made.fill_(float("nan"))
            return made

        return make_and_fill

    for name, make in makers.items():
        monkeypatch.setattr(torch, name, filled(make))
    for name, make in numpy_makers.items():
        monkeypatch.setattr(np, name, filled(make))


@pytest.fixture(params=compiled.instruction_sets() if compiled else [])
def instruction_set(request):
    """Each instruction set that this processor has, in use."""
    assert compiled is not None
    best = compiled.instruction_set()
    assert compiled.use_instruction_set(request.param)
    yield request.param
    compiled.use_instruction_set(best)
