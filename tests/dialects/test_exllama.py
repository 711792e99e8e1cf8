"""ExLlamaV2 and text-generation-webui."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from ordinate.dialects.exllamav2 import ExLlamaV2
from ordinate.dialects.text_generation_webui import TextGenerationWebui
from ordinate.errors import InputError
from ordinate.scaling.abf import Abf
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup, Spec, Window

PLAIN = 1e4 ** -(np.arange(64) / 64)


def model(stretch=None, base=10000.0, head_dim=128, trained=4096, declared=16384, architecture="llama"):
    group = LayerGroup("full_attention", Rope(head_dim, base=base), stretch, "half")
    return Spec("model", architecture, "huggingface", {"full_attention": group}, Window(trained, declared))


def test_v2_divides_positions_by_rope_scale():
    written = ExLlamaV2().write(model(Linear(4.0)))
    assert written.losses == ()
    assert written.text.endswith("--length 16384 --rope_scale 4")
    read = ExLlamaV2().read(written.settings, model()).group
    np.testing.assert_allclose(read.frequencies(), PLAIN / 4, rtol=1e-14)


@pytest.mark.parametrize("alpha, base", [(2, 20221.26), (4, 40889.94), (8, 82684.62)])
def test_v2_multiplies_the_base_by_a_power_of_rope_alpha(alpha, base):
    read = ExLlamaV2().read({"rope_theta": 10000.0, "rope_alpha": alpha}, model()).group
    np.testing.assert_allclose(read.frequencies(), base ** -(np.arange(64) / 64), rtol=1e-6)
    assert ExLlamaV2().write(model(Ntk(float(alpha)))).settings["rope_alpha"] == alpha


def test_v2_takes_the_exponent_of_its_own_head():
    read = ExLlamaV2().read({"rope_theta": 10000.0, "rope_alpha": 4}, model(head_dim=64)).group
    np.testing.assert_allclose(read.frequencies()[-1], (10000 * 4 ** (64 / 62)) ** (-31 / 32), rtol=1e-12)


def test_v2_lays_yarns_ramp_by_the_longest_sequence():
    run = ExLlamaV2().interpret(model(Yarn(4.0, 4096)))
    assert [loss.setting for loss in run.losses] == ["original_max_position_embeddings"]
    # 128 ln(16384 / (2 pi r)) / (2 ln 10000) is 30.57 for r = 32 and 54.66 for r = 1; by 4096 it would be 20.9, 45.0.
    ramp = np.clip((np.arange(64) - 30) / (55 - 30), 0, 1)
    np.testing.assert_allclose(run.spec.group.frequencies(), PLAIN * (1 - ramp) + PLAIN / 4 * ramp, rtol=1e-12)
    assert run.spec.group.attention_factor() == pytest.approx(0.1 * math.log(4) + 1, rel=1e-12)


def test_v2_does_not_heed_betas_truncate_and_attention_factor():
    yarn = Yarn(4.0, 4096, magnitude_factor=1.0, beta_fast=16.0, truncate=False)
    written = ExLlamaV2().write(model(yarn))
    assert [loss.setting for loss in written.losses] == [
        "truncate",
        "beta_fast",
        "attention_factor",
        "original_max_position_embeddings",
    ]


def test_v2_scales_by_yarn_only_past_the_original_length():
    run = ExLlamaV2().interpret(model(Yarn(4.0, 4096)), capacity=4096)
    assert run.spec.group.stretch is None
    assert [loss.setting for loss in run.losses] == ["rope_type"]


def test_v2_chooses_longropes_list_once():
    short, long = (1.0,) * 64, tuple(np.linspace(1, 8, 64).tolist())
    spec = model(LongRope(short, long, 4.0, 4096))
    past = ExLlamaV2().interpret(spec).spec.group
    np.testing.assert_allclose(past.frequencies(1), PLAIN / np.array(long), rtol=1e-14)
    assert past.attention_factor() == pytest.approx(math.sqrt(1 + math.log(4) / math.log(4096)), rel=1e-12)
    within = ExLlamaV2().interpret(spec, capacity=4096)
    np.testing.assert_allclose(within.spec.group.frequencies(16384), PLAIN, rtol=1e-14)
    assert within.spec.group.attention_factor() == 1.0
    assert [loss.setting for loss in within.losses] == ["long_factor", "attention_factor"]


def test_v2_holds_llama3_in_the_old_spelling():
    written = ExLlamaV2().write(model(Llama3(8.0, 4096), base=5e5))
    assert written.losses == ()
    config = json.loads(written.text.split("\n--")[0])
    assert config["rope_scaling"]["type"] == "llama3"
    assert config["rope_theta"] == 500000
    assert ExLlamaV2().read(written.settings, model()).group.stretch == Llama3(8.0, 4096)


def test_v2_has_no_dynamic_scaling():
    written = ExLlamaV2().write(model(DynamicNtk(4.0, 4096)))
    assert [loss.setting for loss in written.losses] == ["rope_type"]
    assert "rope_scaling" not in written.settings


def test_v2_knows_gemma_3s_layers_with_a_window_and_no_others():
    local = LayerGroup("sliding_attention", Rope(128), None, "half", sliding_window=512)
    for architecture, losses in (("gemma3_text", []), ("olmo3", ["rope_parameters"])):
        spec = model(Linear(8.0), base=1e6, architecture=architecture)
        spec = replace(spec, groups={**spec.groups, "sliding_attention": local})
        written = ExLlamaV2().write(spec)
        assert [loss.setting for loss in written.losses] == losses
        read = ExLlamaV2().read(written.settings, spec).groups["sliding_attention"]
        assert (read == local) is (architecture == "gemma3_text")


def test_webui_writes_the_base_whatever_alpha_would_be():
    written = TextGenerationWebui().write(model(Ntk(4.0)))
    assert written.text == "--rope_freq_base 40890 --n_ctx 16384"
    assert [loss.setting for loss in written.losses] == ["rope_theta"]
    assert "takes whole numbers" in written.losses[0].what
    assert TextGenerationWebui().write(model(Abf(40890.0))).losses == ()


@pytest.mark.parametrize("head_dim", [64, 128])
def test_webuis_alpha_has_the_exponent_of_128_channels_for_every_head(head_dim):
    read = TextGenerationWebui().read({"alpha_value": 4.0}, model(base=1e6, head_dim=head_dim)).group
    assert read.rope.base == pytest.approx(10000 * 4 ** (64 / 63), rel=1e-14)


def test_webuis_base_counts_before_alpha():
    read = TextGenerationWebui().read({"alpha_value": 4.0, "rope_freq_base": 500000}, model()).group
    assert read.rope.base == 500000
    assert TextGenerationWebui().read({"rope_freq_base": 0}, model(base=1e6)).group.rope.base == 10000


def test_webui_compresses_by_whole_numbers():
    written = TextGenerationWebui().write(model(Linear(2.5)))
    assert written.settings["compress_pos_emb"] == 2
    assert [loss.setting for loss in written.losses] == ["factor"]
    assert "25 %" in written.losses[0].what
    exact = TextGenerationWebui().write(model(Linear(4.0)))
    assert exact.losses == ()
    np.testing.assert_allclose(
        TextGenerationWebui().read(exact.settings, model()).group.frequencies(), PLAIN / 4, rtol=1e-14
    )


@pytest.mark.parametrize("stretch", [Yarn(4.0, 4096), Llama3(8.0, 4096), DynamicNtk(4.0, 4096)])
def test_webui_says_a_base_and_a_linear_scale_alone(stretch):
    assert [loss.setting for loss in TextGenerationWebui().write(model(stretch)).losses] == ["rope_type"]
    assert TextGenerationWebui().interpret(model(stretch)).losses == ()


@pytest.mark.parametrize(
    "words, message",
    [
        ({"rope_scale": 0.5}, "rope_scale must be >= 1"),
        ({"rope_scale": 2, "rope_alpha": 2}, "must be one at most"),
        ({"rope_scaling": {"type": "dynamic", "factor": 2}}, "type must be one of"),
        ({"rope_scaling": {"type": "yarn", "original_max_position_embeddings": 4096}}, "factor is missing"),
        ({"rope_scaling": {"type": "yarn", "factor": 4}}, "original_max_position_embeddings is missing"),
        ({"rope_scaling": {"type": "llama3", "factor": 4, "original_max_position_embeddings": 9}}, "must be given"),
        (
            {
                "rope_scaling": {"type": "su", "short_factor": [1.0], "long_factor": [1.0]},
                "original_max_position_embeddings": 4096,
            },
            "must have 64 divisors",
        ),
        ({"rope_parameters": {}}, "unknown key 'rope_parameters'"),
        ({"rope_scaling": []}, "must be an object"),
    ],
)
def test_v2s_impossible_words_are_refused(words, message):
    with pytest.raises(InputError, match=message):
        ExLlamaV2().read(words, model())


@pytest.mark.parametrize(
    "words, message",
    [
        ({"compress_pos_emb": 0}, "compress_pos_emb must be >= 1"),
        ({"alpha_value": -1}, "alpha_value must be >= 0"),
        ({"alpha_value": 0}, "alpha_value must be > 0"),
        ({"alpha_value": 1e308}, "alpha_value"),
        ({"alpha": 1}, "unknown key 'alpha'"),
    ],
)
def test_webuis_impossible_words_are_refused(words, message):
    with pytest.raises(InputError, match=message):
        TextGenerationWebui().read(words, model())
