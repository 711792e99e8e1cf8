"""Fixtures for the modules."""

import pytest

from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup

STRETCHES = {
    "default": None,
    "linear": Linear(4.0),
    "dynamic": DynamicNtk(4.0, window=2048),
    "yarn": Yarn(4.0, original_max_position_embeddings=2048),
    "llama3": Llama3(8.0, original_max_position_embeddings=2048),
    "longrope": LongRope(
        tuple(1 + i / 50 for i in range(32)),
        tuple(1 + i for i in range(32)),
        factor=4.0,
        original_max_position_embeddings=2048,
    ),
}


@pytest.fixture(params=STRETCHES)
def group(request):
    """A group of 32 pairs under each scaling method that transformers has."""
    return LayerGroup("full_attention", Rope(64), STRETCHES[request.param], pairing="half")


@pytest.fixture
def plain():
    """A group of 32 pairs without scaling."""
    return LayerGroup("full_attention", Rope(64), pairing="half")
