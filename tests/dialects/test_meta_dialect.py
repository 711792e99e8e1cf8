"""Meta's params.json as an engine's words."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ordinate.dialects import meta
from ordinate.dialects.meta import Meta
from ordinate.errors import InputError
from ordinate.scaling.abf import Abf
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.none import NoPosition
from ordinate.schemes.rope import Rope
from ordinate.spec import Heads, LayerGroup, Spec, Window
from ordinate.temperature import QueryTemperature

HEADS = Heads(32, 8, 128, 128)
SCOUT = Llama3(16.0, 8192, 1.0, 1.0)


def model(stretch=None, architecture="llama", pairing="half", rope=None, declared=None, still=None):
    groups = {
        "full_attention": LayerGroup("full_attention", rope or Rope(128, base=5e5), stretch, pairing, heads=HEADS)
    }
    if still is not None:
        groups["still"] = LayerGroup("still", NoPosition(), heads=HEADS, temperature=still)
    return Spec("model", architecture, "huggingface", groups, Window(8192, declared))


def settings_lost(spec):
    return [loss.setting for loss in Meta().write(spec).losses]


def test_llama_31_is_a_flag():
    written = Meta().write(model(Llama3(8.0, 8192), pairing="interleaved"))
    assert (written.losses, written.steps) == ((), ())
    assert json.loads(written.text) == {"rope_theta": 500000, "use_scaled_rope": True}
    assert Meta().read(written.settings, model()).group.stretch == Llama3(8.0, 8192, 1.0, 4.0)


def test_half_pairs_need_their_weights_rewritten():
    (step,) = Meta().write(model(Llama3(8.0, 8192))).steps
    assert "--pairing interleaved" in step


@pytest.mark.parametrize(
    "stretch, lost",
    [
        (Llama3(32.0, 8192), "factor"),
        (Llama3(8.0, 4096), "original_max_position_embeddings"),
        (SCOUT, "factor"),
        (Linear(4.0), "rope_type"),
        (Yarn(4.0, 8192), "rope_type"),
    ],
)
def test_nothing_but_llama_3s_constants_can_be_said(stretch, lost):
    assert lost in settings_lost(model(stretch))


def test_llama_4_gives_its_factor_and_band():
    written = Meta().write(model(SCOUT, architecture="llama4_text"))
    assert written.losses == ()
    assert written.settings["rope_scaling_factor"] == 16
    assert written.settings["rope_high_freq_factor"] == 1
    bare = {"rope_theta": 500000.0, "use_scaled_rope": True}
    assert Meta().read(bare, model(architecture="llama4_text")).group.stretch == SCOUT


def test_llama_4_without_a_band_between_divides_or_keeps():
    group = Meta().read(Meta().write(model(SCOUT, architecture="llama4")).settings, model(architecture="llama4")).group
    plain = 5e5 ** -(np.arange(64) / 64)
    kept = 2 * np.pi / plain < 8192
    np.testing.assert_allclose(group.frequencies(), np.where(kept, plain, plain / 16), rtol=1e-12)


def test_the_declared_window_is_lost_because_the_file_has_no_word_for_it():
    (loss,) = Meta().write(model(Llama3(8.0, 8192), declared=131072)).losses
    assert loss.setting == "max_position_embeddings"
    assert "131072" in loss.what
    assert Meta().interpret(model(Llama3(8.0, 8192), declared=131072)).losses == ()


def test_another_base_is_a_base():
    written = Meta().write(model(Abf(1e6)))
    assert (written.losses, written.settings["rope_theta"]) == ((), 1000000)


def test_a_part_of_a_head_cannot_be_said():
    assert settings_lost(model(rope=Rope(128, 64))) == ["partial_rotary_factor"]


def test_layers_without_position_are_llama_4s_alone():
    tuned = QueryTemperature("llama4", 0.1, 8192.0)
    written = Meta().write(model(SCOUT, architecture="llama4", still=tuned))
    assert written.losses == ()
    assert written.settings["attn_scale"] == 0.1
    spec = model(architecture="llama4")
    spec = replace(spec, groups={**spec.groups, "still": LayerGroup("still", NoPosition(), heads=HEADS)})
    assert Meta().read(written.settings, spec).groups["still"].temperature == tuned
    assert settings_lost(model(still=tuned)) == ["attn_scale", "no_rope_layers"]


def test_what_metas_reader_reads_is_written_back():
    params = {"dim": 4096, "n_layers": 32, "n_heads": 32, "rope_theta": 1000000, "multiple_of": 256}
    spec = meta.read(params, name="code llama")
    assert Meta().write(spec).settings["rope_theta"] == 1000000
    assert Meta().write(spec).losses == ()


@pytest.mark.parametrize(
    "words, message",
    [
        ({"rope_scaling": {}}, "unknown key 'rope_scaling'"),
        ({"use_scaled_rope": "yes"}, "use_scaled_rope must be a boolean"),
        ({"rope_theta": -1}, "rope_theta must be > 0"),
    ],
)
def test_impossible_words_are_refused(words, message):
    with pytest.raises(InputError, match=message):
        Meta().read(words, model())
    with pytest.raises(InputError, match="rope_scaling_factor must be >= 1"):
        Meta().read({"use_scaled_rope": True, "rope_scaling_factor": 0.5}, model(architecture="llama4"))
