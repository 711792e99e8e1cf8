"""What is said of transformers as an engine is what its installed functions compute, for drawn settings."""

import random
from typing import Any

import numpy as np
import pytest
from transformers import LlamaConfig, Olmo3Config
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

import ordinate
from ordinate.dialects.huggingface import HuggingFace

ENGINE = HuggingFace()
LENGTH = 4096
TYPES = ("linear", "dynamic", "yarn", "longrope", "llama3", "proportional")


def drawn(kind: str, seed: int) -> dict[str, Any]:
    """Settings of a type with numbers drawn from `seed` alone; optional keys are there or not."""
    draw = random.Random(f"{kind} {seed}")  # noqa: S311 - settings to try
    factor = draw.choice([1.0, 2.0, 4.0, 8.5, 40.0])
    rope: dict[str, Any] = {"rope_type": kind, "rope_theta": draw.choice([1e4, 1.5e5, 5e5, 1e7]), "factor": factor}
    if kind in ("yarn", "llama3", "longrope"):
        rope["original_max_position_embeddings"] = draw.choice([1024, 2048, LENGTH])
    if kind == "llama3":
        rope |= {"low_freq_factor": 1.0, "high_freq_factor": draw.choice([2.0, 4.0])}
    if kind == "yarn":
        optional = {"attention_factor": 1.25, "beta_fast": 16.0, "beta_slow": 2.0, "truncate": False}
        optional |= {"mscale": 0.707, "mscale_all_dim": draw.choice([0.0, 0.5, 1.0])}
        rope |= {key: value for key, value in optional.items() if draw.random() < 0.5}
    if kind == "longrope":
        rope |= {key: [draw.uniform(1, 8) for _ in range(32)] for key in ("short_factor", "long_factor")}
    if kind == "proportional":
        rope["partial_rotary_factor"] = draw.choice([0.25, 0.5, 1.0])
    return rope


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", TYPES)
def test_drawn_settings_run_as_interpreted(kind: str, seed: int) -> None:
    config = LlamaConfig(
        hidden_size=128,
        num_attention_heads=2,
        head_dim=64,
        num_hidden_layers=1,
        max_position_embeddings=LENGTH,
        rope_parameters=drawn(kind, seed),
    )
    group = ENGINE.interpret(ordinate.read(config.to_dict())).spec.group
    for length in (None, 512, LENGTH, LENGTH + 1, 4 * LENGTH):
        found, factor = ROPE_INIT_FUNCTIONS[kind](config, seq_len=length)
        np.testing.assert_allclose(group.frequencies(length), found.numpy(), rtol=2e-6, atol=0)
        assert group.attention_factor(length) == pytest.approx(factor, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_truncate_is_overlooked_in_settings_by_layer_type_and_the_loss_says_so(seed: int) -> None:
    yarn = {**drawn("yarn", seed), "factor": 32.0, "truncate": False}
    config = Olmo3Config(
        hidden_size=128,
        num_attention_heads=2,
        num_hidden_layers=4,
        max_position_embeddings=LENGTH,
        rope_parameters={
            "full_attention": yarn,
            "sliding_attention": {"rope_type": "default", "rope_theta": yarn["rope_theta"]},
        },
    )
    spec = ordinate.read(config.to_dict())
    found = ENGINE.interpret(spec)
    computed, factor = ROPE_INIT_FUNCTIONS["yarn"](config, layer_type="full_attention")
    group = found.spec.groups["full_attention"]
    np.testing.assert_allclose(group.frequencies(), computed.numpy(), rtol=2e-6, atol=0)
    assert group.attention_factor() == pytest.approx(factor, rel=1e-9)
    assert [(loss.setting, loss.group) for loss in found.losses] == [("truncate", "full_attention")]
    assert not np.allclose(spec.groups["full_attention"].frequencies(), computed.numpy(), rtol=1e-3, atol=0)
    assert {loss.setting for loss in ENGINE.write(spec).losses} == {"truncate"}
