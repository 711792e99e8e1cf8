"""ExLlamaV3, which reads Hugging Face's words and computes other things from some of them."""

import math
from dataclasses import replace

import numpy as np
import pytest

from ordinate.dialects import huggingface
from ordinate.dialects.exllamav3 import ExLlamaV3
from ordinate.errors import InputError
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.rope import Rope
from ordinate.spec import Heads, LayerGroup, Spec, Window
from ordinate.temperature import QueryTemperature

PLAIN = 1e6 ** -(np.arange(64) / 64)
# Qwen3 with YaRN as its page tells users to write it, but for the length.
QWEN3 = {
    "model_type": "qwen3",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "num_hidden_layers": 4,
    "max_position_embeddings": 40960,
    "rope_parameters": {
        "rope_type": "yarn",
        "rope_theta": 1000000.0,
        "factor": 4.0,
        "original_max_position_embeddings": 32768,
    },
}


def model(stretch=None, architecture="llama", declared=131072, temperature=None):
    heads = Heads(32, 8, 128, 128)
    rope = Rope(128, base=1e6)
    group = LayerGroup("full_attention", rope, stretch, "half", tuple(range(4)), heads, temperature=temperature)
    return Spec("model", architecture, "huggingface", {"full_attention": group}, Window(32768, declared), layers=4)


def yarn(factor, original, low, high):
    ramp = np.clip((np.arange(64) - low) / (high - low), 0, 1)
    del original
    return PLAIN * (1 - ramp) + PLAIN / factor * ramp


def test_the_factor_is_the_ratio_of_the_lengths_whatever_it_says():
    spec = ExLlamaV3().read(QWEN3, huggingface.read(QWEN3, name="qwen3"))
    run = ExLlamaV3().interpret(spec)
    assert [loss.setting for loss in run.losses] == ["factor"]
    assert "40960" in run.losses[0].what
    # 128 ln(32768 / (2 pi r)) / (2 ln 1e6) is 23.6 for r = 32 and 39.6 for r = 1.
    np.testing.assert_allclose(run.spec.group.frequencies(), yarn(1.25, 32768, 23, 40), rtol=1e-12)
    assert run.spec.group.attention_factor() == pytest.approx(0.1 * math.log(1.25) + 1, rel=1e-12)


def test_what_is_written_has_the_length_that_gives_the_factor():
    written = ExLlamaV3().write(huggingface.read(QWEN3, name="qwen3"))
    assert written.losses == ()
    assert written.settings["max_position_embeddings"] == 131072
    run = ExLlamaV3().interpret(ExLlamaV3().read(written.settings, model()))
    np.testing.assert_allclose(run.spec.group.frequencies(), yarn(4.0, 32768, 23, 40), rtol=1e-12)


def test_a_declared_length_beyond_the_factor_is_lost_rather_than_the_factor():
    written = ExLlamaV3().write(model(Yarn(4.0, 32768), declared=262144))
    assert written.settings["max_position_embeddings"] == 131072
    assert "max_position_embeddings" in {loss.setting for loss in written.losses}
    assert "factor" not in {loss.setting for loss in written.losses}


def test_a_length_below_the_original_one_raises_frequencies():
    run = ExLlamaV3().interpret(model(Yarn(1.0, 32768), declared=16384)).spec.group
    np.testing.assert_allclose(run.frequencies(), yarn(0.5, 32768, 23, 40), rtol=1e-12)
    assert run.attention_factor() == 1.0


@pytest.mark.parametrize(
    "architecture, change, temperature, factor",
    [
        ("mistral", {"mscale": 1.0, "mscale_all_dim": 1.0}, None, 0.1 * math.log(4) + 1),
        ("deepseek_v3", {"mscale": 1.0, "mscale_all_dim": 1.0}, None, 1.0),
        (
            "deepseek_v3",
            {"mscale": 1.0, "mscale_all_dim": 0.707},
            None,
            (0.1 * math.log(4) + 1) / (0.0707 * math.log(4) + 1),
        ),
        ("mistral", {"magnitude_factor": 0.5, "mscale": 1.0, "mscale_all_dim": 1.0}, None, 0.5),
        ("ministral3", {}, QueryTemperature("ministral3", 0.1, 32768.0), 1.0),
        ("llama", {}, None, 0.1 * math.log(4) + 1),
    ],
)
def test_the_magnitude(architecture, change, temperature, factor):
    spec = model(replace(Yarn(4.0, 32768), **change), architecture, temperature=temperature)
    run = ExLlamaV3().interpret(spec)
    assert run.spec.group.attention_factor() == pytest.approx(factor, rel=1e-12)
    assert bool(run.losses) is (spec.group.attention_factor() != pytest.approx(factor, rel=1e-9))


def test_truncate_and_betas_are_heeded():
    spec = model(Yarn(4.0, 32768, beta_fast=16.0, beta_slow=2.0, truncate=False))
    assert ExLlamaV3().interpret(spec).losses == ()


@pytest.mark.parametrize("stretch", [Linear(4.0), Llama3(32.0, 8192, 1.0, 2.0), None])
def test_other_scalings_are_as_in_the_file(stretch):
    assert ExLlamaV3().interpret(model(stretch)).spec == model(stretch)


def test_dynamic_scaling_is_refused_and_left_out_of_what_is_written():
    with pytest.raises(InputError, match="refuses rope_type 'dynamic'"):
        ExLlamaV3().interpret(model(DynamicNtk(4.0, 32768)))
    written = ExLlamaV3().write(model(DynamicNtk(4.0, 32768)))
    assert "rope_type" in {loss.setting for loss in written.losses}
    assert written.settings["rope_parameters"]["rope_type"] == "default"


def test_longropes_list_and_magnitude_are_chosen_once():
    long = tuple(np.linspace(1, 8, 64).tolist())
    spec = model(LongRope((1.0,) * 64, long, 4.0, 32768, magnitude_factor=1.5), "phi3")
    run = ExLlamaV3().interpret(spec)
    np.testing.assert_allclose(run.spec.group.frequencies(1), PLAIN / np.array(long), rtol=1e-14)
    magnitude = math.sqrt(1 + math.log(4) / math.log(32768))
    assert run.spec.group.attention_factor() == pytest.approx(magnitude, rel=1e-12)
    assert [loss.setting for loss in run.losses] == ["short_factor", "attention_factor"]
    short = ExLlamaV3().interpret(spec, capacity=32768).spec.group
    np.testing.assert_allclose(short.frequencies(131072), PLAIN, rtol=1e-14)
    assert short.attention_factor() == pytest.approx(magnitude, rel=1e-12)
    other = ExLlamaV3().interpret(replace(spec, architecture="minicpm3"), capacity=32768).spec.group
    np.testing.assert_allclose(other.frequencies(131072), PLAIN / np.array(long), rtol=1e-14)


@pytest.mark.parametrize("length", [0, -1, 1.5, "many"])
def test_impossible_lengths_are_refused(length):
    with pytest.raises(InputError, match="max_position_embeddings"):
        ExLlamaV3().read({**QWEN3, "max_position_embeddings": length}, model())
