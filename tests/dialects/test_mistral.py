"""Mistral's params.json, as released with Mistral 7B to Mistral Large 3."""

import json
import math

import numpy as np
import pytest

from ordinate import read as read_any
from ordinate.dialects import mistral
from ordinate.errors import InputError
from ordinate.scaling.yarn import Yarn
from ordinate.spec import Heads, Window
from ordinate.temperature import QueryTemperature

MISTRAL_7B = {
    "dim": 4096,
    "n_layers": 32,
    "head_dim": 128,
    "hidden_dim": 14336,
    "n_heads": 32,
    "n_kv_heads": 8,
    "norm_eps": 1e-05,
    "sliding_window": 4096,
    "vocab_size": 32000,
}
NEMO = {**MISTRAL_7B, "dim": 5120, "sliding_window": None, "rope_theta": 1000000.0, "max_position_embeddings": 128000}
YARN = {"factor": 16.0, "original_max_position_embeddings": 16384, "beta": 32.0, "alpha": 1.0, "apply_scale": False}
MINISTRAL_3 = {
    **NEMO,
    "max_position_embeddings": 262144,
    "yarn": YARN,
    "llama_4_scaling": {"original_max_position_embeddings": 16384, "beta": 0.1},
}
LARGE_3 = {
    "dim": 7168,
    "n_layers": 61,
    "head_dim": 192,
    "hidden_dim": 16384,
    "n_heads": 128,
    "n_kv_heads": 128,
    "rope_theta": 10000.0,
    "max_position_embeddings": 294912,
    "max_seq_len": 262144,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "llama_4_scaling": {"beta": 0.1, "original_max_position_embeddings": 8192},
    "yarn": {"alpha": 1, "apply_scale": False, "beta": 32, "factor": 36, "original_max_position_embeddings": 8192},
}


def test_mistral_7b_slides_everywhere_with_a_base_its_file_does_not_say():
    spec = mistral.read(MISTRAL_7B, name="mistral")
    group = spec.group
    assert (spec.container, group.pairing, group.sliding_window) == ("mistral", "interleaved", 4096)
    assert group.rope.base == 10000.0
    assert spec.sources["full_attention.base"].startswith("assumed 10000")
    assert spec.window == Window(None, None)
    assert any("how long its context" in warning for warning in spec.warnings)


def test_without_a_window_the_base_is_assumed_a_million():
    spec = mistral.read({**MISTRAL_7B, "sliding_window": None}, name="mistral")
    assert spec.group.rope.base == 1e6


def test_nemo_has_heads_narrower_than_its_width_says():
    spec = mistral.read(NEMO, name="nemo")
    assert spec.group.heads == Heads(32, 8, 128, 128)
    np.testing.assert_allclose(spec.group.frequencies(), [1e6 ** (-i / 64) for i in range(64)], rtol=1e-14)
    assert (spec.group.rotary_dim, spec.group.rope.part, spec.group.sliding_window) == (128, "first", None)
    assert spec.window == Window(128000, 128000)
    assert spec.warnings == ()
    assert not any("sliding_window" in key for key in spec.sources)


def test_ministral_has_yarn_without_magnitude_and_a_query_temperature():
    spec = mistral.read(MINISTRAL_3, name="ministral")
    assert spec.group.stretch == Yarn(16.0, 16384, magnitude_factor=1.0, beta_fast=32.0, beta_slow=1.0)
    assert spec.group.attention_factor() == 1.0
    assert spec.group.temperature == QueryTemperature("ministral3", 0.1, 16384.0)
    assert spec.window == Window(trained=16384, declared=262144)


def test_yarn_has_its_magnitude_where_the_scale_is_applied():
    spec = mistral.read({**MINISTRAL_3, "yarn": {**YARN, "apply_scale": True}}, name="ministral")
    assert spec.group.attention_factor() == pytest.approx(1 + 0.1 * math.log(16), rel=1e-15)


def test_yarn_has_the_papers_numbers_where_the_file_has_none_and_marks_them():
    spec = mistral.read({**NEMO, "yarn": {"factor": 4, "original_max_position_embeddings": 4096}}, name="a model")
    assert spec.group.stretch == Yarn(4.0, 4096)
    assert "assumed: beta 32, alpha 1, apply_scale true" in spec.sources["scaling"]


def test_large_3_turns_the_last_channels_of_its_latent_heads():
    spec = mistral.read(LARGE_3, name="large")
    group = spec.group
    heads = group.heads
    assert (heads.kind, heads.head_dim, heads.value_dim, heads.latent_dim, heads.rotary_key_dim) == (
        "MLA",
        192,
        128,
        512,
        64,
    )
    assert (group.rotary_dim, group.rope.part, group.pairing) == (64, "last", "interleaved")
    assert group.stretch == Yarn(36.0, 8192, magnitude_factor=1.0)
    assert group.softmax_scale is None
    assert spec.window == Window(8192, 294912)
    assert len(spec.warnings) == 1
    assert "max_seq_len is 262144" in spec.warnings[0]


def test_a_scale_on_a_latent_key_is_reported_because_engines_differ():
    spec = mistral.read({**LARGE_3, "yarn": {**YARN, "apply_scale": True}}, name="large")
    assert any("apply_scale is true beside kv_lora_rank" in warning for warning in spec.warnings)
    assert not any("apply_scale" in warning for warning in mistral.read(MINISTRAL_3, name="ministral").warnings)


def test_a_list_of_windows_is_repeated_over_the_layers():
    spec = mistral.read({**NEMO, "n_layers": 8, "sliding_window": [None, None, None, 32768]}, name="a model")
    assert spec.groups["full_attention"].layers == (0, 1, 2, 4, 5, 6)
    assert spec.groups["sliding_attention"].layers == (3, 7)
    assert spec.groups["sliding_attention"].sliding_window == 32768
    assert spec.sources["sliding_attention.sliding_window"] == "sliding_window"


def test_an_image_encoder_is_reported():
    spec = mistral.read({**NEMO, "vision_encoder": {"hidden_size": 1024}}, name="pixtral")
    assert any("vision_encoder" in warning for warning in spec.warnings)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"rope_theta": math.nan}, "rope_theta must be a finite number"),
        ({"rope_theta": 0.0}, "rope_theta must be > 0"),
        ({"yarn": {**YARN, "factor": None}}, "yarn: factor is missing"),
        ({"yarn": {**YARN, "factor": 0.5}}, "yarn: factor must be >= 1"),
        ({"yarn": {**YARN, "gamma": 1}}, "unknown key 'gamma'"),
        ({"yarn": {**YARN, "beta": 0.5}}, "beta_fast must be >= beta_slow"),
        ({"yarn": []}, "yarn must be an object"),
        ({"yarn": {"factor": 2.0}}, "original_max_position_embeddings is missing"),
        ({"llama_4_scaling": {"beta": 0.1}}, "original_max_position_embeddings is missing"),
        ({"llama_4_scaling": {"original_max_position_embeddings": 8192}}, "beta is missing"),
        ({"head_dim": 127}, "head_dim must be even"),
        ({"head_dim": 2**20}, "head_dim must be at most 65536"),
        ({"sliding_window": [4096, 8192]}, "must have one window besides null"),
        ({"sliding_window": [None] * 5}, "length that divides 32"),
        ({"sliding_window": 0}, "sliding_window must be an integer >= 1"),
        ({"model_type": "mamba"}, "model_type must be transformer"),
        (
            {"kv_lora_rank": 8, "qk_rope_head_dim": 63, "qk_nope_head_dim": 1, "v_head_dim": 8},
            "qk_rope_head_dim must be",
        ),
        ({"kv_lora_rank": 512}, "qk_rope_head_dim is missing"),
    ],
)
def test_impossible_settings_are_refused_by_their_key(change, message):
    with pytest.raises(InputError, match=message):
        mistral.read({**NEMO, **change}, name="params.json")


def test_read_tells_mistrals_file_by_its_own_keys(tmp_path):
    (tmp_path / "params.json").write_text(json.dumps(MINISTRAL_3))
    assert read_any(tmp_path).container == "mistral"
    assert read_any(tmp_path / "params.json").container == "mistral"
    assert read_any(LARGE_3).container == "mistral"
