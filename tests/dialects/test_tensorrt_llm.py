"""TensorRT-LLM: one set of settings, no `attention_factor`, no `truncate`, dynamic only with alpha."""

import math
from typing import Any

import numpy as np
import pytest

import ordinate
from ordinate.dialects.tensorrt_llm import TensorRtLlm
from ordinate.errors import InputError
from ordinate.spec import Spec

ENGINE = TensorRtLlm()
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 40.0, "original_max_position_embeddings": 4096}


def llama(rope: dict[str, Any], length: int = 163840) -> Spec:
    config = {"model_type": "llama", "head_dim": 64, "num_attention_heads": 8, "num_hidden_layers": 4}
    return ordinate.read({**config, "max_position_embeddings": length, "rope_parameters": rope})


def test_truncate_and_attention_factor_have_no_parameter() -> None:
    found = ENGINE.interpret(llama({**YARN, "truncate": False, "attention_factor": 1.5}))
    assert [loss.setting for loss in found.losses] == ["truncate", "attention_factor"]
    assert found.spec.group.attention_factor() == pytest.approx(0.1 * math.log(40) + 1)
    assert ENGINE.interpret(llama(YARN)).losses == ()


def test_settings_by_layer_type_are_not_read() -> None:
    gemma = ordinate.read({"model_type": "gemma3_text", "num_hidden_layers": 6})
    bases = {name: group.rope.base for name, group in gemma.groups.items()}
    assert len(set(bases.values())) == 2
    found = ENGINE.interpret(gemma)
    assert {group.rope.base for group in found.spec.groups.values()} == {bases["full_attention"]}
    assert [(loss.setting, loss.group) for loss in found.losses] == [("rope_parameters", "sliding_attention")]


def test_dynamic_without_alpha_is_a_loss_and_with_alpha_none() -> None:
    dynamic = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0}
    (loss,) = ENGINE.interpret(llama(dynamic, 2048)).losses
    assert "alpha" in loss.what
    alpha = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 1.0, "alpha": 1000.0}
    hunyuan = ordinate.read({"model_type": "hunyuan_v1_dense", "num_hidden_layers": 2, "rope_parameters": alpha})
    assert hunyuan.group.scaling == "ntk"
    assert ENGINE.interpret(hunyuan).losses == ()


@pytest.mark.parametrize("capacity, divisor", [(None, 4.0), (4096, 1.0), (4097, 4.0)])
def test_longropes_list_is_chosen_by_the_longest_sequence(capacity: int | None, divisor: float) -> None:
    lists = {"short_factor": [1.0] * 32, "long_factor": [4.0] * 32, "factor": 4.0}
    rope = {"rope_type": "longrope", "rope_theta": 1e4, **lists, "original_max_position_embeddings": 4096}
    group = ENGINE.interpret(llama(rope, 16384), capacity).spec.group
    for length in (None, 4096, 4097):
        assert group.frequencies(length)[0] == pytest.approx(1 / divisor)


def test_the_words_put_type_first_and_the_base_beside_them() -> None:
    written = ENGINE.write(llama({"rope_type": "linear", "rope_theta": 5e5, "factor": 4.0}, 4096))
    words = written.settings["config"]
    assert words["rope_scaling"] == {"type": "linear", "rope_type": "linear", "factor": 4.0}
    assert words["rope_theta"] == 5e5
    assert written.settings["max_seq_len"] == 16384
    found = ENGINE.read(written.settings, llama(YARN))
    np.testing.assert_allclose(found.group.frequencies()[0], 0.25)


def test_other_settings_are_refused() -> None:
    for settings in ({"rope_theta": 1.0}, {"config": []}, {"max_seq_len": -1}):
        with pytest.raises(InputError):
            ENGINE.read(settings, llama(YARN))
