"""torchtitan's RoPE.Config."""

import math
from dataclasses import replace

import numpy as np
import pytest

from ordinate.dialects.torchtitan import TorchTitan
from ordinate.errors import InputError
from ordinate.scaling.abf import Abf
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.proportional import Proportional
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.none import NoPosition
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup, Spec, Window

GPT_OSS = Yarn(32.0, 4096, truncate=False)


def model(stretch=None, pairing="half", rope=None, declared=131072):
    rope = rope or Rope(64, base=150000.0, pairing=pairing)
    group = LayerGroup("full_attention", rope, stretch, pairing)
    return Spec("model", "gpt_oss", "huggingface", {"full_attention": group}, Window(4096, declared))


def test_gpt_oss_keeps_its_ramp_and_loses_its_magnitude():
    written = TorchTitan().write(model(GPT_OSS))
    assert [loss.setting for loss in written.losses] == ["attention_factor"]
    assert "the magnitude 1.347 becomes 1" in written.losses[0].what
    assert f"softmax scale by {(0.1 * math.log(32) + 1) ** 2:.6g}" in written.losses[0].what
    assert "frequencies" not in written.losses[0].what
    assert written.settings["full_attention"] == {
        "format": "CosSinRoPE",
        "dim": 64,
        "max_context_length": 131072,
        "theta": 150000,
        "scaling": "yarn",
        "rope_factor": 32,
        "beta_fast": 32,
        "beta_slow": 1,
        "original_seq_len": 4096,
        "truncate": False,
    }
    assert written.text.startswith("CosSinRoPE.Config(dim=64, max_context_length=131072, theta=150000, scaling='yarn'")


def test_truncate_is_honoured_and_moves_pair_17_as_gpt_oss_reports_have_it():
    rounded = TorchTitan().read(TorchTitan().write(model(replace(GPT_OSS, truncate=True))).settings, model())
    exact = TorchTitan().read(TorchTitan().write(model(GPT_OSS)).settings, model())
    a, b = exact.group.frequencies(), rounded.group.frequencies()
    assert int((np.abs(a - b) / a).argmax()) == 17
    assert abs(a - b)[17] / a[17] == pytest.approx(0.76, abs=0.005)
    assert abs(a - b)[17] / b[17] == pytest.approx(0.43, abs=0.005)


def test_a_magnitude_of_1_is_no_loss():
    assert TorchTitan().write(model(replace(GPT_OSS, magnitude_factor=1.0))).losses == ()


def test_llama3_is_held_with_all_its_numbers_and_asks_for_interleaved_weights():
    written = TorchTitan().write(model(Llama3(32.0, 4096, 2.0, 8.0)))
    assert written.losses == ()
    entry = written.settings["full_attention"]
    assert (entry["format"], entry["scaling"], entry["scaling_factor"]) == ("ComplexRoPE", "llama", 32)
    assert "--pairing interleaved" in written.steps[0]
    assert TorchTitan().write(model(Llama3(32.0, 4096), pairing="interleaved")).steps == ()
    assert TorchTitan().read(written.settings, model()).group.stretch == Llama3(32.0, 4096, 2.0, 8.0)


def test_another_base_is_said_by_theta():
    written = TorchTitan().write(model(Abf(1e6)))
    assert written.losses == ()
    assert written.settings["full_attention"]["theta"] == 1000000


@pytest.mark.parametrize(
    "stretch",
    [Linear(4.0), DynamicNtk(4.0, 4096), Proportional(4.0), LongRope((1.0,) * 32, (4.0,) * 32, 4.0, 4096)],
    ids=lambda stretch: stretch.name,
)
def test_other_scalings_are_dropped_with_a_loss(stretch):
    written = TorchTitan().write(model(stretch))
    assert [loss.setting for loss in written.losses] == ["rope_type"]
    assert "scaling" not in written.settings["full_attention"]


@pytest.mark.parametrize("stretch", [Linear(1.0), Yarn(1.0, 4096)])
def test_a_scaling_by_1_is_no_loss(stretch):
    assert TorchTitan().write(model(stretch)).losses == ()


def test_yarn_by_1_or_less_is_not_applied():
    entry = TorchTitan().write(model(GPT_OSS)).settings["full_attention"]
    assert TorchTitan().read({"full_attention": {**entry, "rope_factor": 1.0}}, model()).group.stretch is None


def test_each_kind_of_layers_has_a_config_and_layers_without_position_none():
    full = LayerGroup("full_attention", Rope(64, base=1e6), Llama3(8.0, 8192), "interleaved")
    sliding = LayerGroup("sliding_attention", Rope(64), None, "half", sliding_window=512)
    still = LayerGroup("linear_attention", NoPosition())
    groups = {group.layer_type: group for group in (full, sliding, still)}
    spec = Spec("model", "llama", "huggingface", groups, Window(8192, 65536))
    written = TorchTitan().write(spec)
    assert written.losses == ()
    assert list(written.settings) == ["full_attention", "sliding_attention"]
    read = TorchTitan().read(written.settings, spec)
    assert read.groups["full_attention"].stretch == Llama3(8.0, 8192)
    assert read.groups["sliding_attention"].rope.base == 10000.0
    assert read.groups["linear_attention"] == still


ENTRY = {"format": "CosSinRoPE", "dim": 64, "max_context_length": 4096}


@pytest.mark.parametrize(
    "words, message",
    [
        ({}, "full_attention is missing"),
        ({"full_attention": {**ENTRY, "scale": 1}}, "unknown key 'scale'"),
        ({"full_attention": {**ENTRY, "format": "Rope"}}, "format must be one of"),
        ({"full_attention": {**ENTRY, "scaling": "linear"}}, "scaling must be one of none, llama, yarn"),
        ({"full_attention": {**ENTRY, "scaling": "llama"}}, "scaling must be none or yarn for CosSinRoPE"),
        ({"full_attention": {**ENTRY, "dim": 32}}, "dim must be 64, as in the model"),
        ({"full_attention": {**ENTRY, "scaling": "yarn", "rope_factor": 4, "truncate": 1}}, "truncate must be True"),
        ({"full_attention": ENTRY, "other": {}}, "unknown key 'other'"),
    ],
)
def test_impossible_words_are_refused(words, message):
    with pytest.raises(InputError, match=message):
        TorchTitan().read(words, model())
