"""Scalings spelled for transformers v5: transformers' own functions must find the same frequencies in them."""

import numpy as np
import pytest
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from ordinate.dialects import read
from ordinate.dialects.huggingface.spelling import rope_parameters
from ordinate.errors import InputError
from ordinate.scaling.abf import Abf
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.proportional import Proportional
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.axial import Axial
from ordinate.schemes.rope import Rope

ROPE = Rope(head_dim=64, base=50000.0)
SCALINGS = [
    None,
    Abf(2e6),
    Ntk(3.0),
    Linear(4.0),
    DynamicNtk(2.0, window=2048),
    DynamicNtk(2.0, window=2048, form="ratio"),
    Llama3(8.0, 2048),
    Llama3(8.0, 2048, 2.0, 16.0),
    Yarn(4.0, 2048),
    Yarn(4.0, 2048, magnitude_factor=1.5),
    Yarn(40.0, 2048, beta_fast=16.0, beta_slow=2.0, mscale=0.7, mscale_all_dim=0.3, truncate=False),
    LongRope(tuple(1 + i / 40 for i in range(32)), tuple(1 + i for i in range(32)), 4.0, 2048),
    LongRope((1.0,) * 32, (2.0,) * 32, 4.0, 2048, magnitude_factor=1.25),
]


def configuration(parameters, maximum=2048):
    return LlamaConfig(
        hidden_size=128,
        num_attention_heads=2,
        num_hidden_layers=1,
        max_position_embeddings=maximum,
        rope_parameters=parameters,
    )


@pytest.mark.parametrize("scaling", SCALINGS, ids=str)
def test_transformers_finds_the_same_frequencies(scaling):
    parameters = rope_parameters(ROPE, scaling)
    after = isinstance(scaling, (Llama3, Yarn, LongRope))
    config = configuration(dict(parameters), 8192 if after else 2048)
    kind = config.rope_parameters["rope_type"]
    functions = {**ROPE_INIT_FUNCTIONS, "default": LlamaRotaryEmbedding.compute_default_rope_parameters}
    for length in (None, 8192):
        found, factor = functions[kind](config, seq_len=length)
        expected = ROPE.plain() if scaling is None else scaling.frequencies(ROPE, length)
        assert np.allclose(found.numpy(), expected, rtol=2e-6, atol=0)
        assert factor == pytest.approx(1.0 if scaling is None else scaling.attention_factor(length), rel=1e-12)


@pytest.mark.parametrize("scaling", SCALINGS, ids=str)
def test_our_reader_finds_them_exactly(scaling):
    after = isinstance(scaling, (Llama3, Yarn, LongRope))
    config = configuration(rope_parameters(ROPE, scaling), 8192 if after else 2048).to_dict()
    group = read(config).group
    for length in (None, 8192):
        expected = ROPE.plain() if scaling is None else scaling.frequencies(ROPE, length)
        assert np.allclose(group.frequencies(length), expected, rtol=1e-14, atol=0)


def test_a_part_of_the_head_is_restated():
    spelled = rope_parameters(Rope(head_dim=64, rotary_dim=16), None)
    assert spelled == {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25}


@pytest.mark.parametrize(
    "rope, scaling",
    [
        (ROPE, Yarn(2.0, 64, ramp="turns")),
        (ROPE, Proportional(2.0)),
        (Rope(head_dim=64, direction=-1), None),
        (Rope(head_dim=64, rotary_dim=32, part="last"), None),
        (Axial.example(), None),
    ],
    ids=str,
)
def test_what_v5_cannot_say_is_refused(rope, scaling):
    with pytest.raises(InputError, match="rope_parameters"):
        rope_parameters(rope, scaling)
