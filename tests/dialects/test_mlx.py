"""mlx-lm: rounded ramps, magnitudes of its own, always the long list, one axis; and the array for `mx.fast.rope`."""

import math
from typing import Any

import numpy as np
import pytest

import ordinate
from ordinate.dialects.mlx import Mlx, fast_rope
from ordinate.errors import InputError
from ordinate.spec import Spec

ENGINE = Mlx()
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 40.0, "original_max_position_embeddings": 4096}


def llama(rope: dict[str, Any], length: int = 163840) -> Spec:
    config = {"model_type": "llama", "head_dim": 64, "num_attention_heads": 8, "num_hidden_layers": 4}
    return ordinate.read({**config, "max_position_embeddings": length, "rope_parameters": rope})


def test_the_ramp_is_always_rounded_and_attention_factor_ignored() -> None:
    found = ENGINE.interpret(llama({**YARN, "truncate": False, "attention_factor": 1.5}))
    assert [loss.setting for loss in found.losses] == ["truncate", "attention_factor"]
    rounded = llama(YARN)
    np.testing.assert_allclose(found.spec.group.frequencies(), rounded.group.frequencies(), rtol=1e-12)
    assert found.spec.group.attention_factor() == pytest.approx(0.1 * math.log(40) + 1)
    assert ENGINE.interpret(rounded).losses == ()


@pytest.mark.parametrize("more, expected", [({"mscale": 0.707}, 1.2608), ({"mscale_all_dim": 0.5}, 1.3689 / 1.18444)])
def test_each_mscale_counts_by_itself(more: dict[str, float], expected: float) -> None:
    found = ENGINE.interpret(llama({**YARN, **more}))
    assert found.spec.group.attention_factor() == pytest.approx(expected, rel=1e-3)
    assert [loss.setting for loss in found.losses] == ["mscale"]


def test_longrope_takes_the_long_list_at_every_length() -> None:
    lists = {"short_factor": [1.0] * 32, "long_factor": [4.0] * 32, "factor": 4.0}
    rope = {"rope_type": "longrope", "rope_theta": 1e4, **lists, "original_max_position_embeddings": 4096}
    found = ENGINE.interpret(llama(rope, 16384))
    for length in (None, 1, 4096, 16384):
        assert found.spec.group.frequencies(length)[0] == pytest.approx(0.25)
    assert [loss.setting for loss in found.losses] == ["short_factor"]
    alike = llama({**rope, "short_factor": [4.0] * 32}, 16384)
    assert ENGINE.interpret(alike).losses == ()


def test_the_axes_of_images_are_lost_and_text_is_the_same() -> None:
    spec = ordinate.read({"model_type": "qwen2_vl_text", "num_hidden_layers": 2})
    found = ENGINE.interpret(spec)
    assert [loss.setting for loss in found.losses] == ["mrope_section"]
    assert found.spec.group.scheme == "rope"
    np.testing.assert_array_equal(found.spec.group.frequencies(), spec.group.frequencies())


def test_the_array_for_fast_rope_is_reciprocal_and_holds_what_no_word_says() -> None:
    spec = llama({**YARN, "truncate": False, "attention_factor": 1.5})
    arguments = ENGINE.write(spec).settings["mx.fast.rope"]["full_attention"]
    np.testing.assert_allclose(1 / np.array(arguments["freqs"]), spec.group.frequencies(), rtol=1e-12)
    assert (arguments["dims"], arguments["base"], arguments["scale"]) == (64, None, 1.0)
    assert arguments["traditional"] is False
    assert arguments["magnitude"] == 1.5


def test_a_pair_that_does_not_turn_has_no_reciprocal() -> None:
    rope = {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.5}
    freqs = fast_rope(llama(rope))["full_attention"]["freqs"]
    assert freqs[16:] == [None] * 16
    assert None not in freqs[:16]


def test_the_words_go_into_the_file_in_old_and_new_spelling() -> None:
    written = ENGINE.write(llama({"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0}, 4096))
    words = written.settings["config"]
    assert words["rope_theta"] == words["rope_parameters"]["rope_theta"] == 1e4
    assert words["rope_scaling"] == {"rope_type": "linear", "factor": 4.0}
    assert any("config.json" in step for step in written.steps)


GEMMA3 = {"num_hidden_layers": 12, "rope_theta": 2e6, "rope_local_base_freq": 2e4}
TWO_BASES = {"sliding_attention": {"rope_theta": 2e4}, "full_attention": {"rope_theta": 2e6}}


@pytest.mark.parametrize("model_type", ["gemma3_text", "gemma3n_text"])
def test_gemma_3_is_said_in_the_keys_that_its_model_has_and_not_by_layer_type(model_type: str) -> None:
    # mlx_lm/models/gemma3_text.py and gemma3n.py have these fields and no rope_parameters.
    spec = ordinate.read({"model_type": model_type, **GEMMA3})
    written = ENGINE.write(spec)
    words = dict(written.settings["config"])
    assert (words["rope_theta"], words["rope_local_base_freq"]) == (2e6, 2e4)
    assert "rope_parameters" not in words
    assert written.losses == ()
    runs = ENGINE.interpret(ENGINE.read(written.settings, spec)).spec
    for name, base in (("sliding_attention", 2e4), ("full_attention", 2e6)):
        assert runs.groups[name].rope.base == base


def test_the_scaling_of_gemma_3_is_that_of_its_full_layers_and_a_part_stays_a_part() -> None:
    text = {"model_type": "gemma3_text", **GEMMA3, "rope_scaling": {"rope_type": "linear", "factor": 8.0}}
    written = ENGINE.write(ordinate.read({"model_type": "gemma3", "text_config": text}))
    (words,) = written.settings["config"].values()
    assert words["rope_scaling"] == {"rope_type": "linear", "factor": 8.0}
    assert written.losses == ()
    plain = ENGINE.write(ordinate.read({"model_type": "gemma3_text", **GEMMA3})).settings["config"]
    assert plain["rope_scaling"] is None  # it takes the place of one that the file may have


@pytest.mark.parametrize("model_type, layers", [("gemma3_text", "sliding"), ("gemma3n_text", "full")])
def test_a_scaling_that_its_model_does_not_read_is_lost(model_type: str, layers: str) -> None:
    linear = {"rope_type": "linear", "factor": 8.0}
    sets = {name: {**values, **(linear if layers in name else {})} for name, values in TWO_BASES.items()}
    spec = ordinate.read({"model_type": model_type, "num_hidden_layers": 12, "rope_parameters": sets})
    (loss,) = ENGINE.write(spec).losses
    assert (loss.setting, loss.group) == ("rope_type", f"{layers}_attention")
    assert [loss.group for loss in ENGINE.interpret(spec).losses] == [f"{layers}_attention"]


def test_olmo_3_has_one_base_for_all_layers() -> None:
    sets = {name: {"rope_theta": 5e5} for name in TWO_BASES}
    spec = ordinate.read({"model_type": "olmo3", "num_hidden_layers": 12, "rope_parameters": sets})
    assert ENGINE.write(spec).losses == ()
    other = ordinate.read({"model_type": "olmo3", "num_hidden_layers": 12, "rope_parameters": TWO_BASES})
    (loss,) = ENGINE.write(other).losses
    assert (loss.setting, loss.group) == ("rope_theta", "sliding_attention")


@pytest.mark.parametrize("model_type", ["gemma4_text", "laguna", "mellum"])
def test_models_that_read_settings_by_layer_type_get_them_so(model_type: str) -> None:
    written = ENGINE.write(ordinate.read({"model_type": model_type}))
    assert {"sliding_attention", "full_attention"} == written.settings["config"]["rope_parameters"].keys()
    assert written.losses == ()


def test_mellum_drops_linear_scaling() -> None:
    sets = {name: {**values, "rope_type": "linear", "factor": 2.0} for name, values in TWO_BASES.items()}
    types = ["full_attention", "sliding_attention"] * 2
    spec = ordinate.read(
        {"model_type": "mellum", "num_hidden_layers": 4, "layer_types": types, "rope_parameters": sets}
    )
    found = ENGINE.interpret(spec)
    assert [loss.setting for loss in found.losses] == ["rope_type", "rope_type"]
    assert all(group.stretch is None for group in found.spec.groups.values())


def test_nothing_is_promised_of_models_whose_words_are_not_known() -> None:
    losses = ENGINE.write(ordinate.read({"model_type": "modernbert"})).losses
    assert {loss.setting for loss in losses} == {"rope_parameters"}
    assert "modernbert" in losses[0].what


def test_other_settings_are_refused() -> None:
    for settings in ({"rope_theta": 1.0}, {"config": 5}):
        with pytest.raises(InputError):
            ENGINE.read(settings, llama(YARN))
