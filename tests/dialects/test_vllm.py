"""vLLM 0.33: values that replace whole keys, a no-op, and a list chosen once."""

import json
import math
import shlex
from typing import Any

import pytest

import ordinate
from ordinate.dialects.vllm import Vllm
from ordinate.errors import InputError
from ordinate.spec import Spec

ENGINE = Vllm()


def llama(rope: dict[str, Any], length: int = 4096, **more: Any) -> Spec:
    config = {"model_type": "llama", "head_dim": 64, "num_attention_heads": 8, "num_hidden_layers": 4}
    return ordinate.read({**config, "max_position_embeddings": length, "rope_parameters": rope, **more})


def longrope(**more: Any) -> dict[str, Any]:
    lists = {"short_factor": [1.0] * 32, "long_factor": [4.0] * 32}
    return {
        "rope_type": "longrope",
        "rope_theta": 1e4,
        **lists,
        "factor": 4.0,
        "original_max_position_embeddings": 4096,
        **more,
    }


YARN = {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0, "original_max_position_embeddings": 32768}


def test_the_flags_hold_json_that_restates_base_and_share_and_the_length() -> None:
    spec = ordinate.read(
        {
            "model_type": "phi",
            "num_attention_heads": 8,
            "hidden_size": 512,
            "num_hidden_layers": 2,
            "max_position_embeddings": 131072,
            "rope_parameters": {**YARN, "partial_rotary_factor": 0.5},
        }
    )
    flag, value, length_flag, length = shlex.split(ENGINE.write(spec).text)
    assert (flag, length_flag, length) == ("--hf-overrides", "--max-model-len", "131072")
    words = json.loads(value)
    assert words["max_position_embeddings"] == 131072
    assert words["rope_parameters"]["rope_theta"] == 1e6
    assert words["rope_parameters"]["partial_rotary_factor"] == 0.5


def test_a_composite_models_words_stand_in_text_config() -> None:
    inner = {"model_type": "qwen3_vl_text", "num_hidden_layers": 2}
    spec = ordinate.read({"model_type": "qwen3_vl", "text_config": inner})
    written = ENGINE.write(spec)
    assert list(written.settings["hf_overrides"]) == ["text_config"]
    assert ENGINE.read(written.settings, spec).group.rope == spec.group.rope


def test_a_value_replaces_the_models_own_as_a_whole() -> None:
    spec = llama({**YARN, "attention_factor": 1.5}, 131072)
    words = {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}}
    found = ENGINE.read({"hf_overrides": words}, spec)
    assert found.group.scaling == "linear"
    assert found.group.rope.base == 1e4
    assert found.group.attention_factor() == 1


def test_plain_dynamic_is_a_no_op_and_served_to_the_length_before_scaling() -> None:
    spec = llama({"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0})
    found = ENGINE.interpret(spec)
    assert found.spec.group.frequencies(16384).tolist() == spec.group.rope.plain().tolist()
    assert [loss.setting for loss in found.losses] == ["rope_type"]
    written = ENGINE.write(spec)
    assert written.text.endswith("--max-model-len 4096")
    assert "no-op" in written.losses[0].what


def test_the_factor_of_proportional_is_ignored_and_one_of_1_is_no_loss() -> None:
    rope = {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.5}
    (loss,) = ENGINE.interpret(llama({**rope, "factor": 8.0})).losses
    assert loss.setting == "factor"
    assert ENGINE.interpret(llama({**rope, "factor": 1.0})).losses == ()


@pytest.mark.parametrize("capacity, divisor", [(None, 1.0), (4096, 1.0), (4097, 4.0), (16384, 4.0)])
def test_longropes_list_is_chosen_by_the_capacity_for_every_length(capacity: int | None, divisor: float) -> None:
    spec = llama(longrope(), 16384)
    group = ENGINE.interpret(spec, capacity).spec.group
    for length in (None, 1, 4096, 4097, 16384):
        assert group.frequencies(length)[0] == pytest.approx(1 / divisor)


def test_longropes_magnitude_follows_from_the_lengths_unless_vllms_own_words_say_it() -> None:
    spec = llama(longrope(attention_factor=1.5), 16384)
    found = ENGINE.interpret(spec, 16384)
    computed = math.sqrt(1 + math.log(4) / math.log(4096))
    assert found.spec.group.attention_factor() == pytest.approx(computed)
    assert {loss.setting for loss in found.losses} == {"short_factor", "attention_factor"}
    written = ENGINE.write(spec)
    assert written.settings["hf_overrides"]["rope_parameters"]["long_mscale"] == 1.5
    runs = ENGINE.interpret(ENGINE.read(written.settings, spec), 16384)
    assert runs.spec.group.attention_factor() == 1.5
    assert {loss.setting for loss in written.losses} == {"short_factor"}


def test_attention_factor_truncate_and_a_single_mscale_are_as_in_transformers() -> None:
    for more in ({"attention_factor": 1.3}, {"truncate": False}, {"mscale": 0.707, "mscale_all_dim": 0.0}):
        assert ENGINE.interpret(llama({**YARN, **more}, 131072)).losses == ()


def test_yarn_of_mla_is_rounded_and_has_no_attention_factor() -> None:
    mla = {"model_type": "deepseek_v3", "num_hidden_layers": 2, "max_position_embeddings": 163840}
    yarn = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 40.0, "original_max_position_embeddings": 4096}
    released = ordinate.read({**mla, "rope_parameters": {**yarn, "mscale": 1.0, "mscale_all_dim": 1.0}})
    assert ENGINE.interpret(released).losses == ()
    other = ordinate.read({**mla, "rope_parameters": {**yarn, "truncate": False, "attention_factor": 2.0}})
    assert {loss.setting for loss in ENGINE.interpret(other).losses} == {"truncate", "attention_factor"}


def test_linear_needs_a_factor_that_is_a_float_and_gets_one() -> None:
    spec = llama({"rope_type": "linear", "rope_theta": 1e4, "factor": 4})
    factor = ENGINE.write(spec).settings["hf_overrides"]["rope_parameters"]["factor"]
    assert type(factor) is float
    words = {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 4}}
    with pytest.raises(InputError, match="float"):
        ENGINE.read({"hf_overrides": words}, spec)


@pytest.mark.parametrize(
    "settings",
    [{"rope_scaling": {}}, {"hf_overrides": []}, {"max_model_len": 0}, {"hf_overrides": {"rope_parameters": 5}}],
    ids=str,
)
def test_words_that_vllm_does_not_have_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        ENGINE.read(settings, llama(YARN, 131072))


def test_where_nothing_rotates_there_is_nothing_to_override() -> None:
    spec = ordinate.read({"model_type": "bloom", "n_head": 8, "hidden_size": 512, "n_layer": 2})
    written = ENGINE.write(spec)
    assert (written.settings, written.text, written.losses) == ({}, "", ())
    assert written.steps
