"""Meta's params.json, as released with Llama 1 to 4."""

import json
import math

import numpy as np
import pytest

from ordinate import read as read_any
from ordinate.dialects import meta
from ordinate.errors import InputError
from ordinate.scaling.llama3 import Llama3
from ordinate.spec import Heads, Window
from ordinate.temperature import QueryTemperature

LLAMA_1 = {"dim": 4096, "multiple_of": 256, "n_heads": 32, "n_layers": 32, "norm_eps": 1e-06, "vocab_size": -1}
CODE_LLAMA = {**LLAMA_1, "rope_theta": 1000000, "vocab_size": 32016}
LLAMA_31_8B = {
    "dim": 4096,
    "n_layers": 32,
    "n_heads": 32,
    "n_kv_heads": 8,
    "vocab_size": 128256,
    "ffn_dim_multiplier": 1.3,
    "multiple_of": 1024,
    "norm_eps": 1e-05,
    "rope_theta": 500000.0,
    "use_scaled_rope": True,
}
LLAMA_32_3B = {**LLAMA_31_8B, "dim": 3072, "n_layers": 28, "n_heads": 24, "ffn_dim_multiplier": 1.0, "multiple_of": 256}
LLAMA_32_1B = {**LLAMA_31_8B, "dim": 2048, "n_layers": 16, "ffn_dim_multiplier": 1.5, "multiple_of": 256}
LLAMA_4 = {
    "dim": 5120,
    "n_layers": 48,
    "n_heads": 40,
    "n_kv_heads": 8,
    "head_dim": 128,
    "vocab_size": 202048,
    "ffn_exp": 4.0,
    "multiple_of": 2048,
    "norm_eps": 1e-05,
    "rope_theta": 500000.0,
    "use_scaled_rope": True,
    "rope_scaling_factor": 16.0,
    "rope_high_freq_factor": 1.0,
    "nope_layer_interval": 4,
    "attention_chunk_size": 8192,
    "attn_temperature_tuning": True,
    "floor_scale": 8192.0,
    "attn_scale": 0.1,
}


def test_llama_1_has_a_base_that_its_file_does_not_say():
    spec = meta.read(LLAMA_1, name="llama")
    assert (spec.architecture, spec.container, spec.layers) == ("llama", "meta", 32)
    assert spec.group.pairing == spec.group.rope.pairing == "interleaved"
    assert spec.group.heads == Heads(32, 32, 128, 128)
    np.testing.assert_allclose(spec.group.frequencies(), [10000.0 ** (-i / 64) for i in range(64)], rtol=1e-14)
    assert spec.sources["full_attention.base"].startswith("assumed 10000")


def test_code_llama_says_its_base():
    spec = meta.read(CODE_LLAMA, name="code llama")
    assert spec.group.frequencies()[-1] == pytest.approx(1.24094e-6, rel=1e-5)
    assert spec.sources["full_attention.base"] == "rope_theta"


@pytest.mark.parametrize("key", [{"use_scaled_rope": False}, {"nope_layer_interval": 4}])
def test_newer_files_without_a_base_have_that_of_newer_code(key):
    spec = meta.read({**LLAMA_1, **key}, name="llama")
    assert spec.groups["full_attention"].rope.base == 500000.0
    assert spec.sources["full_attention.base"].startswith("assumed 500000")


def test_llama_31_scales_by_numbers_that_only_the_code_has():
    spec = meta.read(LLAMA_31_8B, name="llama")
    assert spec.group.stretch == Llama3(8.0, 8192, 1.0, 4.0)
    assert spec.group.heads.kind == "GQA"
    assert spec.window == Window(trained=8192, declared=None)
    assert spec.sources["scaling"].endswith(
        "factor, high_freq_factor, low_freq_factor, original_max_position_embeddings"
    )
    assert any("factor 8" in warning for warning in spec.warnings)


def test_llama_31_frequencies_are_kept_blended_and_divided():
    frequencies = meta.read(LLAMA_31_8B, name="llama").group.frequencies()
    for i, frequency in enumerate(frequencies):
        plain = 500000.0 ** (-i / 64)
        wavelength = 2 * math.pi / plain
        if wavelength < 8192 / 4:
            expected = plain
        elif wavelength > 8192:
            expected = plain / 8
        else:
            blend = (8192 / wavelength - 1) / 3
            expected = (1 - blend) * plain / 8 + blend * plain
        assert frequency == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("params", [LLAMA_32_1B, LLAMA_32_3B])
def test_llama_32_is_known_by_its_shape(params):
    spec = meta.read(params, name="llama")
    assert spec.group.stretch == Llama3(32.0, 8192, 1.0, 4.0)
    assert any("Llama 3.2" in warning for warning in spec.warnings)


def test_llama_3_without_scaling_has_none():
    assert meta.read({**LLAMA_31_8B, "use_scaled_rope": False}, name="llama").group.stretch is None


def test_llama_4_has_chunks_and_layers_without_position():
    spec = meta.read(LLAMA_4, name="llama")
    chunked, full = spec.groups["chunked_attention"], spec.groups["full_attention"]
    assert full.layers == tuple(range(3, 48, 4))
    assert len(chunked.layers) == 36
    assert (chunked.scheme, chunked.sliding_window, chunked.temperature) == ("rope", 8192, None)
    assert chunked.stretch == Llama3(16.0, 8192, 1.0, 1.0)
    assert full.temperature == QueryTemperature("llama4", 0.1, 8192.0)
    assert (spec.architecture, full.scheme, full.pairing, full.sliding_window) == ("llama4", "none", None, None)


def test_llama_4_without_its_numbers_has_those_of_metas_code():
    left_out = ("rope_scaling_factor", "rope_high_freq_factor", "floor_scale", "attn_scale")
    keys = {key: value for key, value in LLAMA_4.items() if key not in left_out}
    spec = meta.read(keys, name="llama")
    assert spec.groups["chunked_attention"].stretch == Llama3(16.0, 8192, 1.0, 1.0)
    assert spec.groups["full_attention"].temperature == QueryTemperature("llama4", 0.1, 8192.0)
    assert spec.sources["temperature"].endswith("floor_scale, attn_scale")


def test_llama_4_numbers_in_the_file_count():
    changes = {"rope_scaling_factor": 8.0, "rope_high_freq_factor": 4.0, "floor_scale": 4096, "attn_scale": 0.2}
    spec = meta.read({**LLAMA_4, **changes}, name="llama")
    assert spec.groups["chunked_attention"].stretch == Llama3(8.0, 8192, 1.0, 4.0)
    assert spec.groups["full_attention"].temperature == QueryTemperature("llama4", 0.2, 4096.0)
    assert "factor," not in spec.sources["scaling"].split("low_freq_factor")[0]


def test_llama_4_without_tuning_has_no_temperature():
    spec = meta.read({**LLAMA_4, "attn_temperature_tuning": False}, name="llama")
    assert spec.groups["full_attention"].temperature is None


def test_llama_4_without_chunks_still_names_its_layers_apart():
    spec = meta.read({**LLAMA_4, "attention_chunk_size": None}, name="llama")
    assert set(spec.groups) == {"full_attention", "full_attention_without_position"}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"rope_theta": math.nan}, "rope_theta must be a finite number"),
        ({"rope_theta": -1}, "rope_theta must be > 0"),
        ({"rope_theta": 0}, "rope_theta must be > 0"),
        ({"n_layers": None}, "n_layers is missing"),
        ({"n_layers": 10**9}, "n_layers must be at most 4096"),
        ({"n_heads": 33}, "dim must be a multiple of n_heads"),
        ({"n_kv_heads": 3}, "n_kv_heads must divide n_heads 32"),
        ({"n_kv_heads": 64}, "n_kv_heads must divide n_heads 32"),
        ({"dim": 4064}, "must be even"),
        ({"use_scaled_rope": 1}, "use_scaled_rope must be a boolean"),
        ({"rope_scaling_factor": 0.5}, "rope_scaling_factor must be >= 1"),
        ({"dim": "4096"}, "dim must be an integer"),
    ],
)
def test_impossible_numbers_are_refused_by_their_key(change, message):
    with pytest.raises(InputError, match=message):
        meta.read({**LLAMA_31_8B, **change}, name="params.json")


def test_read_tells_metas_file_by_its_own_keys(tmp_path):
    (tmp_path / "params.json").write_text(json.dumps(LLAMA_31_8B))
    assert read_any(tmp_path).container == "meta"
    assert read_any(tmp_path).name == tmp_path.name
    assert read_any(tmp_path / "params.json").container == "meta"
    assert read_any(LLAMA_1).container == "meta"
