"""MaxText's configuration."""

import math
from dataclasses import replace

import numpy as np
import pytest

from ordinate.dialects.maxtext import MaxText
from ordinate.errors import InputError
from ordinate.scaling.abf import Abf
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup, Spec, Window

YARN = Yarn(4.0, 4096)


def model(stretch=None, pairing="half", rope=None, declared=16384, **local):
    groups = {"full_attention": LayerGroup("full_attention", rope or Rope(64, base=1e6), stretch, pairing)}
    if local:
        window = Rope(64, base=local["base"])
        groups["sliding_attention"] = LayerGroup(
            "sliding_attention", window, local.get("scaling"), pairing, sliding_window=512
        )
    return Spec("model", "llama", "huggingface", groups, Window(4096, declared))


def settings_lost(spec):
    return [(loss.setting, loss.group) for loss in MaxText().write(spec).losses]


def test_llama_31_has_constants():
    written = MaxText().write(model(Llama3(8.0, 8192)))
    assert written.losses == ()
    assert written.settings["rope_type"] == "llama3.1"
    assert "--pairing interleaved" in written.steps[0]
    assert MaxText().write(model(Llama3(8.0, 8192), pairing="interleaved")).steps == ()


@pytest.mark.parametrize(
    "stretch, lost",
    [
        (Llama3(32.0, 8192), "factor"),
        (Llama3(8.0, 4096), "original_max_position_embeddings"),
        (Llama3(8.0, 8192, 1.0, 2.0), "low_freq_factor"),
    ],
)
def test_other_numbers_of_llama_3_are_lost(stretch, lost):
    assert settings_lost(model(stretch)) == [(lost, None)]


def test_yarn_has_its_own_magnitude_only_where_it_is_asked_for():
    written = MaxText().write(model(YARN))
    assert written.losses == ()
    assert written.settings["rope_attention_scaling"] is True
    off = {**written.settings, "rope_attention_scaling": False}
    assert MaxText().read(off, model()).group.attention_factor() == 1.0
    assert MaxText().read(written.settings, model()).group.attention_factor() == pytest.approx(
        0.1 * math.log(4) + 1, rel=1e-12
    )


def test_without_its_word_yarn_has_no_magnitude_and_rounds():
    group = MaxText().read({"rope_type": "yarn"}, model()).group
    assert group.stretch == Yarn(40.0, 4096, magnitude_factor=1.0)


def test_truncate_and_the_pairing_are_words():
    written = MaxText().write(model(replace(YARN, truncate=False), pairing="interleaved"))
    assert written.losses == written.steps == ()
    assert "rope_truncate: false\n" in written.text
    assert "rope_interleave: true" in written.text
    assert MaxText().read(written.settings, model(pairing="interleaved")).group.stretch.truncate is False


def test_another_magnitude_is_lost():
    assert settings_lost(model(replace(YARN, magnitude_factor=1.3))) == [("attention_factor", None)]
    assert settings_lost(model(Yarn(40.0, 4096, mscale=0.707, mscale_all_dim=1.0))) == [("mscale", None)]
    assert settings_lost(model(replace(YARN, magnitude_factor=1.0))) == []


def test_factors_and_bases_are_whole_numbers():
    assert settings_lost(model(replace(YARN, factor=2.5, magnitude_factor=1.0))) == [("factor", None)]
    assert settings_lost(model(Ntk(4.0))) == [("rope_theta", None)]
    assert settings_lost(model(Abf(5e6))) == []


def test_linear_scaling_divides_everywhere():
    written = MaxText().write(model(Linear(2.5)))
    assert written.losses == ()
    read = MaxText().read(written.settings, model())
    np.testing.assert_allclose(read.group.frequencies(), 1e6 ** -(np.arange(32) / 32) / 2.5, rtol=1e-14)
    assert read.window == Window(6553, 16384)


def test_layers_with_a_window_have_a_base_of_their_own():
    spec = model(base=10000.0)
    written = MaxText().write(spec)
    assert written.losses == ()
    assert (written.settings["rope_max_timescale"], written.settings["local_rope_max_timescale"]) == (1000000, 10000)
    read = MaxText().read(written.settings, spec)
    assert (read.groups["full_attention"].rope.base, read.groups["sliding_attention"].rope.base) == (1e6, 1e4)


def test_they_have_no_scaling_of_their_own():
    assert settings_lost(model(Linear(8.0), base=10000.0)) == [("rope_parameters", "sliding_attention")]
    assert settings_lost(model(Linear(8.0), base=10000.0, scaling=Linear(8.0))) == []


def test_with_yarn_they_have_no_base_of_their_own_either():
    lost = settings_lost(model(YARN, base=10000.0, scaling=YARN))
    assert lost == [("rope_parameters", "sliding_attention")]
    assert settings_lost(model(YARN, base=1e6, scaling=YARN)) == []


def test_a_part_of_the_head_and_sections_are_the_models():
    half = model(rope=Rope(64, 32))
    written = MaxText().write(half)
    assert (written.losses, written.settings["partial_rotary_factor"]) == ((), 0.5)
    assert settings_lost(model(Linear(4.0), rope=Rope(64, 32))) == [("rope_type", None)]
    spec = model(rope=Multimodal(64, (16, 8, 8)))
    assert MaxText().write(spec).settings["mrope_section"] == [16, 8, 8]
    with pytest.raises(InputError, match="must be 1, as in the model"):
        MaxText().read(written.settings, model())
    with pytest.raises(InputError, match="mrope_section must be"):
        MaxText().read({"rope_type": "default", "mrope_section": [16, 16]}, spec)


def test_dynamic_scaling_is_dropped():
    assert settings_lost(model(DynamicNtk(4.0, 4096))) == [("rope_type", None)]


def test_interleaved_weights_are_rewritten_for_the_default_type():
    assert "--pairing half" in MaxText().write(model(pairing="interleaved")).steps[0]


@pytest.mark.parametrize(
    "words, message",
    [
        ({}, "rope_type must be one of default, llama3.1, yarn"),
        ({"rope_type": "su"}, "rope_type must be one of"),
        ({"rope_type": "yarn", "rope_factor": 2.5}, "rope_factor must be an integer"),
        ({"rope_type": "default", "rope_max_timescale": 0}, "rope_max_timescale must be an integer"),
        ({"rope_type": "default", "rope_linear_scaling_factor": 0.5}, "rope_linear_scaling_factor must be >= 1"),
        ({"rope_type": "yarn", "rope_truncate": 1}, "rope_truncate must be a boolean"),
        ({"rope_type": "yarn", "rope_theta": 1}, "unknown key 'rope_theta'"),
        (
            {"rope_type": "yarn", "rope_interleave": True},
            "rope_interleave must be False, as the model's pairs are half",
        ),
    ],
)
def test_impossible_words_are_refused(words, message):
    with pytest.raises(InputError, match=message):
        MaxText().read(words, model())
