"""Mistral's params.json as an engine's words."""

import math
from dataclasses import replace

import numpy as np
import pytest

from ordinate.dialects.mistral import Mistral
from ordinate.errors import InputError
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.rope import Rope
from ordinate.spec import Heads, LayerGroup, Spec, Window
from ordinate.temperature import QueryTemperature

# Ministral 3 as released: factor 16 over 16,384, beta_slow 1, and a query temperature of 0.1.
MINISTRAL = Yarn(16.0, 16384, beta_fast=32.0, beta_slow=1.0)
TEMPERATURE = QueryTemperature("ministral3", 0.1, 16384.0)


def model(stretch=None, temperature=None, rope=None, heads=None):
    rope = rope or Rope(128, base=1e6, pairing="interleaved")
    group = LayerGroup("full_attention", rope, stretch, "interleaved", heads=heads, temperature=temperature)
    return Spec("model", "ministral3", "huggingface", {"full_attention": group}, Window(16384, 262144))


def settings_lost(spec):
    return [loss.setting for loss in Mistral().write(spec).losses]


def test_yarn_and_its_temperature_are_said_in_mistrals_words():
    written = Mistral().write(model(MINISTRAL, TEMPERATURE))
    assert (written.losses, written.steps) == ((), ())
    assert dict(written.settings) == {
        "rope_theta": 1000000,
        "max_position_embeddings": 262144,
        "yarn": {
            "factor": 16,
            "original_max_position_embeddings": 16384,
            "beta": 32,
            "alpha": 1,
            "apply_scale": True,
        },
        "llama_4_scaling": {"beta": 0.1, "original_max_position_embeddings": 16384},
    }
    read = Mistral().read(written.settings, model())
    assert (read.group.stretch, read.group.temperature) == (MINISTRAL, TEMPERATURE)
    assert read.window == Window(16384, 262144)


def test_apply_scale_says_whether_the_magnitude_is_yarns_or_1():
    yarn = {"factor": 16, "original_max_position_embeddings": 16384}
    for apply_scale, factor in ((True, 0.1 * math.log(16) + 1), (False, 1.0)):
        read = Mistral().read({"rope_theta": 1e6, "yarn": {**yarn, "apply_scale": apply_scale}}, model())
        assert read.group.attention_factor() == pytest.approx(factor, rel=1e-14)
    written = Mistral().write(model(replace(MINISTRAL, magnitude_factor=1.0)))
    assert (written.losses, written.settings["yarn"]["apply_scale"]) == ((), False)


def test_inert_mscales_that_cancel_are_a_magnitude_of_1():
    written = Mistral().write(model(replace(MINISTRAL, mscale=1.0, mscale_all_dim=1.0)))
    assert (written.losses, written.settings["yarn"]["apply_scale"]) == ((), False)


def test_beta_is_beta_fast_and_alpha_beta_slow():
    words = {"factor": 4, "original_max_position_embeddings": 8192, "beta": 4, "alpha": 2}
    group = Mistral().read({"rope_theta": 1e6, "yarn": words}, model()).group
    plain = 1e6 ** -(np.arange(64) / 64)
    # 128 ln(8192 / (2 pi r)) / (2 ln 1e6) is 26.81 for r = 4 and 30.02 for r = 2.
    ramp = np.clip((np.arange(64) - 26) / (31 - 26), 0, 1)
    np.testing.assert_allclose(group.frequencies(), plain * (1 - ramp) + plain / 4 * ramp, rtol=1e-12)


@pytest.mark.parametrize(
    "stretch, lost",
    [
        (replace(MINISTRAL, truncate=False), "truncate"),
        (replace(MINISTRAL, magnitude_factor=1.1), "attention_factor"),
        (replace(MINISTRAL, mscale=0.707, mscale_all_dim=1.0), "mscale"),
        (Llama3(8.0, 8192), "rope_type"),
        (DynamicNtk(4.0, 16384), "rope_type"),
    ],
)
def test_what_cannot_be_said_is_lost(stretch, lost):
    assert settings_lost(model(stretch)) == [lost]


def test_another_temperature_cannot_be_said():
    assert settings_lost(model(MINISTRAL, QueryTemperature("llama4", 0.1, 8192.0))) == ["attn_scale"]
    assert settings_lost(model(MINISTRAL, replace(TEMPERATURE, interval=0.5))) == ["llama_4_scaling_beta"]


def test_only_mla_turns_a_part_of_a_head():
    latent = Heads(128, 128, 192, 128, latent_dim=512, rotary_key_dim=64)
    part = Rope(192, 64, 1e6, "interleaved", "last")
    assert settings_lost(model(MINISTRAL, rope=part, heads=latent)) == []
    assert settings_lost(model(None, rope=Rope(128, 64, 1e6, "interleaved"))) == ["partial_rotary_factor"]


@pytest.mark.parametrize(
    "words, message",
    [
        ({"yarn": {"factor": 4}}, "original_max_position_embeddings is missing"),
        ({"yarn": {"factor": 4, "beta_fast": 1}}, "unknown key 'beta_fast'"),
        ({"rope_scaling": {}}, "unknown key 'rope_scaling'"),
        ({"llama_4_scaling": {"beta": 0.1}}, "original_max_position_embeddings is missing"),
    ],
)
def test_impossible_words_are_refused(words, message):
    with pytest.raises(InputError, match=message):
        Mistral().read(words, model())
