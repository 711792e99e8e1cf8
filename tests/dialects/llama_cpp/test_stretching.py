"""Stretched frequencies in GGUF files: `rope.scaling.*` and the factor tensors, against numbers made here."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from ordinate.errors import InputError
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.yarn import Yarn
from ordinate.spec import Window
from ordinate.temperature import QueryTemperature

GOLDEN = Path(__file__).parents[2] / "golden" / "huggingface_architectures.json"
YARN = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 1024}


def divisors(base, dim, factor, low, high, length):
    """Llama 3's divisors as converters write them: float32 arithmetic, one pair at a time."""
    one = np.float32(1)
    exponents = np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim)
    found = []
    for frequency in one / np.power(np.float32(base), exponents):
        wavelength = np.float32(2 * math.pi) / frequency
        if wavelength < length / high:
            found.append(1.0)
        elif wavelength > length / low:
            found.append(factor)
        else:
            smooth = (np.float32(length) / wavelength - np.float32(low)) / np.float32(high - low)
            found.append(float(one / ((one - smooth) / np.float32(factor) + smooth)))
    return np.array(found, dtype=np.float32)


@pytest.mark.parametrize(
    "keys, stretch",
    [
        ({}, None),
        ({"rope.scaling.type": "none", "rope.scaling.factor": 4.0}, None),
        ({"rope.scaling.type": "linear", "rope.scaling.factor": 4.0}, Linear(4.0)),
        ({"rope.scaling.factor": 4.0}, Linear(4.0)),
        ({"rope.scale_linear": 4.0}, Linear(4.0)),
        ({"rope.scaling.factor": 2.0, "rope.scale_linear": 4.0}, Linear(2.0)),
        ({"rope.scaling.type": "linear", "rope.scaling.factor": 1.0}, None),
        ({"rope.scaling.type": "linear", "rope.scaling.factor": 0.0}, None),
        (YARN, Yarn(4.0, 1024)),
        (
            {**YARN, "rope.scaling.yarn_beta_fast": 16.0, "rope.scaling.yarn_beta_slow": 2.0},
            Yarn(4.0, 1024, None, 16, 2),
        ),
        ({**YARN, "rope.scaling.yarn_attn_factor": 1.25}, Yarn(4.0, 1024, 1.25)),
        ({**YARN, "rope.scaling.yarn_log_multiplier": 0.0}, Yarn(4.0, 1024)),
    ],
)
def test_scaling_keys_become_a_method(gguf_spec, keys, stretch):
    assert gguf_spec("qwen2", **keys).group.stretch == stretch


@pytest.mark.parametrize(
    "keys, message",
    [
        ({"rope.scaling.type": "yarn", "rope.scaling.original_context_length": 1024}, "factor is missing"),
        ({"rope.scaling.type": "yran", "rope.scaling.factor": 2.0}, "did you mean 'yarn'"),
        ({"rope.scaling.type": "linear", "rope.scaling.factor": 0.25}, "factor must be >= 1"),
        ({"rope.scaling.type": "linear", "rope.scaling.factor": math.nan}, "factor must be a finite number"),
        ({**YARN, "rope.scaling.yarn_ext_factor": 0.5}, "yarn_ext_factor must be 1"),
        ({**YARN, "rope.scaling.yarn_attn_factor": 0.0}, "yarn_attn_factor must be > 0"),
        ({**YARN, "rope.scaling.original_context_length": 0}, "original_context_length must be an integer >= 1"),
        ({"rope.scaling.type": "longrope"}, "no rope_factors_long.weight"),
        ({**YARN, "context_length": None, "rope.scaling.original_context_length": None}, "yarn needs it"),
    ],
)
def test_scaling_that_cannot_be_is_refused(gguf_spec, keys, message):
    with pytest.raises(InputError, match=message):
        gguf_spec("qwen2", **keys)


def test_a_factor_beside_type_none_is_reported(gguf_spec):
    spec = gguf_spec("qwen2", **{"rope.scaling.type": "none", "rope.scaling.factor": 4.0})
    assert any("has no effect" in warning for warning in spec.warnings)


def test_a_key_that_changes_no_number_is_not_reported(gguf_spec):
    assert gguf_spec("qwen2", **{"rope.scaling.finetuned": True}).warnings == ()


def test_a_yarn_key_without_yarn_is_reported(gguf_spec):
    spec = gguf_spec("qwen2", **{"rope.scaling.yarn_beta_fast": 16.0})
    assert spec.warnings == ("qwen2.rope.scaling.yarn_beta_fast was not used",)


def test_yarn_sets_the_trained_window_apart_from_the_declared(gguf_spec):
    spec = gguf_spec("qwen2", **YARN)
    assert spec.window == Window(trained=1024, declared=4096)
    assert spec.warnings == ()


@pytest.mark.parametrize("kind, factor", [("linear", 1e30), ("yarn", 1e30)])
def test_a_factor_beyond_all_lengths_is_refused(gguf_spec, kind, factor):
    with pytest.raises(InputError, match="are more than"):
        gguf_spec(
            "qwen2",
            **{
                **YARN,
                "rope.scaling.type": kind,
                "rope.scaling.factor": factor,
                "rope.scaling.original_context_length": None,
            },
        )


def test_yarn_without_its_original_length_takes_the_declared_one_and_says_so(gguf_spec):
    spec = gguf_spec("qwen2", **{"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0})
    assert spec.group.stretch == Yarn(4.0, 4096)
    assert any("original length" in warning for warning in spec.warnings)


def test_linear_scaling_counts_its_length_before_it(gguf_spec):
    linear = {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0}
    spec = gguf_spec("qwen2", **linear)
    assert spec.window == Window(trained=4096, declared=16384)
    assert any("before linear scaling" in warning for warning in spec.warnings)
    known = gguf_spec("qwen2", **linear, **{"rope.scaling.original_context_length": 1024})
    assert known.window == Window(trained=1024, declared=4096)


def test_yarn_reaches_as_far_as_its_factor_says_and_a_shorter_promise_is_reported(gguf_spec):
    spec = gguf_spec("qwen3", **{**YARN, "context_length": 1280})
    assert spec.window == Window(trained=1024, declared=4096)
    assert any("do not reach the stretched length" in warning for warning in spec.warnings)


@pytest.mark.parametrize("name, reported", [("qwen2", True), ("mistral3", False), ("grok", False)])
def test_betas_that_llama_cpp_does_not_read_are_reported(gguf_spec, name, reported):
    spec = gguf_spec(name, **YARN, **{"rope.scaling.yarn_beta_fast": 8.0})
    assert spec.group.stretch.beta_fast == 8.0
    assert any("llama.cpp takes 32" in warning for warning in spec.warnings) is reported


def test_a_yarn_magnitude_in_the_file_is_reported_as_inert_in_llama_cpp(gguf_spec):
    spec = gguf_spec("qwen2", **YARN, **{"rope.scaling.yarn_attn_factor": 1.25})
    assert spec.group.attention_factor() == 1.25
    assert any("ignores it" in warning for warning in spec.warnings)


def test_grok_multiplies_the_magnitude_instead(gguf_spec):
    spec = gguf_spec("grok", **YARN, **{"rope.scaling.yarn_attn_factor": 0.5})
    assert spec.group.attention_factor() == pytest.approx(0.5 * (1 + 0.1 * math.log(4)), rel=1e-15)


def test_gpt_oss_was_trained_without_rounding_the_ramp(gguf_spec):
    keys = {"attention.sliding_window": 128, "rope.freq_base": 150000.0}
    yarn = {"rope.scaling.type": "yarn", "rope.scaling.factor": 32.0, "rope.scaling.original_context_length": 4096}
    spec = gguf_spec("gpt-oss", **keys, **yarn)
    assert spec.groups["full_attention"].stretch == Yarn(32.0, 4096, truncate=False)
    assert any("truncate" in warning for warning in spec.warnings)


def test_ministral_has_yarn_without_magnitude_and_a_query_temperature(gguf_spec):
    keys = {"rope.scaling.yarn_log_multiplier": 1.0, "attention.temperature_scale": 0.1}
    group = gguf_spec("mistral3", **YARN, **keys).group
    assert group.stretch == Yarn(4.0, 1024, mscale=1.0, mscale_all_dim=1.0)
    assert group.attention_factor() == 1.0
    assert group.temperature == QueryTemperature("ministral3", 0.1, 1024.0)
    assert group.softmax_scale is None


def test_deepseek_has_a_tenth_of_mscale_and_scales_its_softmax(gguf_spec):
    spec = gguf_spec(
        "deepseek2",
        **{
            "attention.head_count_kv": 1,
            "attention.key_length": 576,
            "attention.value_length": 512,
            "attention.key_length_mla": 192,
            "attention.value_length_mla": 128,
            "attention.kv_lora_rank": 512,
            "rope.dimension_count": 64,
            "rope.scaling.type": "yarn",
            "rope.scaling.factor": 40.0,
            "rope.scaling.original_context_length": 4096,
            "rope.scaling.yarn_log_multiplier": 0.0707,
            "context_length": 163840,
        },
    )
    group = spec.group
    assert group.stretch == Yarn(40.0, 4096, mscale=0.707, mscale_all_dim=0.707)
    assert group.attention_factor() == 1.0
    assert group.softmax_scale == pytest.approx((0.0707 * math.log(40) + 1) ** 2 / math.sqrt(192), rel=1e-12)
    assert (group.rope.head_dim, group.rotary_dim, group.rope.part) == (192, 64, "last")
    heads = group.heads
    assert (heads.kind, heads.query, heads.key_value) == ("MLA", 8, 8)
    assert (heads.head_dim, heads.value_dim, heads.latent_dim, heads.rotary_key_dim) == (192, 128, 512, 64)


@pytest.mark.parametrize(
    "base, dim, factor, low, high, length",
    [
        (500000.0, 128, 8.0, 1.0, 4.0, 8192),
        (500000.0, 64, 32.0, 1.0, 4.0, 8192),
        (1000000.0, 128, 16.0, 1.0, 4.0, 8192),
        (10000.0, 128, 4.0, 1.0, 32.0, 4096),
        (500000.0, 128, 8.0, 1.0, 4.5, 131072),
        (500000.0, 128, 10.3, 1.0, 4.0, 5000),
        # Two pairs in the band are enough.
        (500000.0, 64, 8.0, 1.0, 2.0, 8192),
    ],
)
def test_llama3s_four_numbers_are_found_in_its_divisors(gguf_spec, base, dim, factor, low, high, length):
    found = divisors(base, dim, factor, low, high, length)
    keys = {"rope.freq_base": base, "attention.key_length": dim, "attention.value_length": dim, "context_length": 2**20}
    spec = gguf_spec("llama", {"rope_freqs.weight": found}, **keys)
    assert spec.group.stretch == Llama3(factor, length, low, high)
    assert spec.window == Window(trained=length, declared=2**20)
    assert "rope_freqs.weight" in spec.sources["full_attention.scaling"]


def test_llama3_numbers_that_differ_in_scale_only_are_one_scaling(gguf_spec):
    # 2, 8 and 16384 are the same ratios as 1, 4 and 8192: the divisors cannot tell them apart.
    found = divisors(500000.0, 64, 8.0, 2.0, 8.0, 16384)
    spec = gguf_spec("llama", {"rope_freqs.weight": found}, **{"rope.freq_base": 500000.0})
    assert spec.group.stretch == Llama3(8.0, 8192, 1.0, 4.0)


def test_the_smallest_band_that_is_tested_has_two_pairs():
    found = divisors(500000.0, 64, 8.0, 1.0, 2.0, 8192)
    assert ((found > 1) & (found < 8)).sum() == 2


def test_apertus_divisors_give_the_frequencies_of_transformers(gguf_spec):
    case = next(c for c in json.loads(GOLDEN.read_text())["cases"] if c["model"] == "apertus1p5")
    found = divisors(12e6, 128, 8.0, 1.0, 4.0, 8192)
    keys = {"rope.freq_base": 12e6, "attention.key_length": 128, "attention.value_length": 128}
    spec = gguf_spec("apertus", {"rope_freqs.weight": found}, **keys)
    np.testing.assert_allclose(spec.group.frequencies(), case["inv_freq"]["inv_freq"], rtol=2e-6)


@pytest.mark.parametrize(
    "found",
    [
        divisors(500000.0, 64, 16.0, 1.0, 1.0, 8192),
        np.linspace(1, 9, 32, dtype=np.float32),
        np.r_[np.ones(31), 8.0].astype(np.float32),
        np.full(32, 2.0, dtype=np.float32),
    ],
    ids=["no band", "a ramp", "one pair", "all alike"],
)
def test_divisors_that_do_not_determine_llama3_are_kept(gguf_spec, found):
    spec = gguf_spec("llama", {"rope_freqs.weight": found}, **{"rope.freq_base": 500000.0})
    plain = np.array([500000.0 ** (-i / 32) for i in range(32)])
    for length in (None, 1, 100_000):
        np.testing.assert_allclose(spec.group.frequencies(length), plain / found, rtol=1e-7)
        assert spec.group.attention_factor(length) == 1.0
    assert spec.window.trained is None
    assert any("kept as they are" in warning for warning in spec.warnings)


def test_divisors_of_one_stretch_nothing(gguf_spec):
    spec = gguf_spec("llama", {"rope_freqs.weight": np.ones(32)})
    assert spec.group.stretch is None
    assert spec.window == Window(4096, 4096)


def test_divisors_and_a_factor_multiply(gguf_spec):
    found = np.linspace(1, 2, 32, dtype=np.float32)
    keys = {"rope.scaling.type": "linear", "rope.scaling.factor": 2.0}
    spec = gguf_spec("llama", {"rope_freqs.weight": found}, **keys)
    plain = np.array([10000.0 ** (-i / 32) for i in range(32)])
    np.testing.assert_allclose(spec.group.frequencies(), plain / (2 * found.astype(np.float64)), rtol=1e-7)


@pytest.mark.parametrize(
    "values, message",
    [
        (np.ones(31), "one entry for each of 32 pairs"),
        (np.ones(33), "one entry for each of 32 pairs"),
        (np.ones((2, 32)), "one entry for each of 32 pairs"),
        (np.r_[np.ones(31), math.nan], r"\[31\] must be finite and > 0"),
        (np.r_[0.0, np.ones(31)], r"\[0\] must be finite and > 0"),
        (np.r_[-1.0, np.ones(31)], r"\[0\] must be finite and > 0"),
    ],
)
def test_divisors_that_are_none_are_refused(gguf_spec, values, message):
    with pytest.raises(InputError, match=message):
        gguf_spec("llama", {"rope_freqs.weight": values})


def test_gemma4s_divisors_say_which_pairs_turn(gguf_spec):
    keys = {
        "attention.key_length": 512,
        "attention.value_length": 512,
        "attention.key_length_swa": 256,
        "attention.value_length_swa": 256,
        "rope.dimension_count": 512,
        "rope.dimension_count_swa": 256,
        "rope.freq_base": 1000000.0,
        "rope.freq_base_swa": 10000.0,
        "attention.sliding_window": 1024,
        "attention.sliding_window_pattern": [True, True, False, True],
    }
    found = np.r_[np.ones(64), np.full(192, 1e30)]
    spec = gguf_spec("gemma4", {"rope_freqs.weight": found}, **keys)
    full, local = spec.groups["full_attention"], spec.groups["sliding_attention"]
    assert (full.rope.part, full.rotary_dim, full.scaling) == ("proportional", 128, None)
    by_hand = [1000000.0 ** (-i / 256) if i < 64 else 0.0 for i in range(256)]
    np.testing.assert_allclose(full.frequencies(), by_hand, rtol=1e-13)
    assert (local.rotary_dim, local.rope.base, local.sliding_window) == (256, 10000.0, 1024)
    assert full.softmax_scale == local.softmax_scale == 1.0
    assert full.heads.head_dim == 512
    assert local.heads.head_dim == 256


LONG = {"rope_factors_short.weight": np.full(32, 1.5), "rope_factors_long.weight": np.linspace(1, 40, 32)}
PHI3 = {
    "rope.scaling.original_context_length": 4096,
    "context_length": 131072,
    "rope.scaling.attn_factor": math.sqrt(1 + math.log(32) / math.log(4096)),
}


def test_longrope_has_two_lists_and_the_magnitude_of_its_factor(gguf_spec):
    spec = gguf_spec("phi3", LONG, **PHI3)
    group = spec.group
    assert isinstance(group.stretch, LongRope)
    assert (group.stretch.factor, group.stretch.magnitude_factor) == (32.0, None)
    plain = np.array([10000.0 ** (-i / 32) for i in range(32)])
    np.testing.assert_allclose(group.frequencies(4096), plain / 1.5, rtol=1e-14)
    np.testing.assert_allclose(group.frequencies(4097), plain / np.linspace(1, 40, 32), rtol=6e-8)
    assert group.attention_factor() == pytest.approx(1.1902380714238083, rel=1e-15)
    assert spec.window == Window(4096, 131072)


def test_longrope_keeps_a_magnitude_of_its_own(gguf_spec):
    group = gguf_spec("phi3", LONG, **{**PHI3, "rope.scaling.attn_factor": 1.5}).group
    assert group.attention_factor() == 1.5


def test_longrope_without_a_magnitude_computes_it_and_says_so(gguf_spec):
    spec = gguf_spec("minicpm", LONG, **{**PHI3, "rope.scaling.attn_factor": None})
    assert spec.group.attention_factor() == pytest.approx(1.1902380714238083, rel=1e-15)
    assert any("llama.cpp takes 1" in warning for warning in spec.warnings)


@pytest.mark.parametrize(
    "tensors, keys, message",
    [
        ({"rope_factors_long.weight": np.ones(32)}, PHI3, "and has one of them"),
        (LONG, {**PHI3, "rope.scaling.original_context_length": None}, "longrope needs it"),
        ({**LONG, "rope_freqs.weight": np.ones(32)}, PHI3, "stretches twice"),
        (LONG, {**PHI3, **YARN}, "stretches twice"),
    ],
)
def test_longrope_that_cannot_be_is_refused(gguf_spec, tensors, keys, message):
    with pytest.raises(InputError, match=message):
        gguf_spec("phi3", tensors, **keys)


def test_yarn_beside_divisors_is_refused(gguf_spec):
    with pytest.raises(InputError, match="stretches twice"):
        gguf_spec("llama", {"rope_freqs.weight": np.full(32, 2.0)}, **YARN)


def test_hunyuans_alpha_is_ntk_aware_scaling(gguf_spec):
    group = gguf_spec("hunyuan_vl", **{"rope.scaling.alpha": 1000.0}).group
    assert group.stretch == Ntk(1000.0)
    base = 10000.0 * 1000.0 ** (64 / 62)
    np.testing.assert_allclose(group.frequencies(), [base ** (-i / 32) for i in range(32)], rtol=1e-13)


def test_a_magnitude_beside_linear_scaling_is_kept(gguf_spec):
    keys = {"rope.scaling.type": "linear", "rope.scaling.factor": 2.0, "rope.scaling.attn_factor": 1.5}
    group = gguf_spec("qwen2", **keys).group
    np.testing.assert_allclose(group.frequencies(), [10000.0 ** (-i / 32) / 2 for i in range(32)], rtol=1e-14)
    assert group.attention_factor() == 1.5
