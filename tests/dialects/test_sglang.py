"""SGLang 0.5.23: a merge that leaves stale keys, magnitudes of its own, and a fixed dynamic scaling."""

import json
import math
import shlex
from typing import Any

import numpy as np
import pytest

import ordinate
from ordinate.dialects.sglang import CLEARED, Sglang
from ordinate.errors import InputError
from ordinate.spec import Spec

ENGINE = Sglang()
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 40.0, "original_max_position_embeddings": 4096}


def llama(rope: dict[str, Any], length: int = 163840) -> Spec:
    config = {"model_type": "llama", "head_dim": 64, "num_attention_heads": 8, "num_hidden_layers": 4}
    return ordinate.read({**config, "max_position_embeddings": length, "rope_parameters": rope})


def words(spec: Spec) -> dict[str, Any]:
    return ENGINE.write(spec).settings["json_model_override_args"]["rope_scaling"]


def test_an_mscale_beside_a_zero_gives_1_261_where_transformers_has_1_369() -> None:
    spec = llama({**YARN, "mscale": 0.707, "mscale_all_dim": 0.0})
    assert spec.group.attention_factor() == pytest.approx(1.369, abs=5e-4)
    found = ENGINE.interpret(spec)
    assert found.spec.group.attention_factor() == pytest.approx(1.261, abs=5e-4)
    assert [loss.setting for loss in found.losses] == ["mscale"]
    assert "1.369 becomes 1.261" in found.losses[0].what


def test_attention_factor_is_ignored_and_said_by_attn_factor() -> None:
    spec = llama({**YARN, "attention_factor": 1.5})
    found = ENGINE.interpret(spec)
    assert found.spec.group.attention_factor() == pytest.approx(0.1 * math.log(40) + 1)
    assert [loss.setting for loss in found.losses] == ["attention_factor"]
    assert ENGINE.write(spec).losses == ()
    assert words(spec)["attn_factor"] == pytest.approx(1.5 / (0.1 * math.log(40) + 1))


def test_a_factor_that_is_what_sglang_computes_is_no_loss() -> None:
    spec = llama({**YARN, "attention_factor": 0.1 * math.log(40) + 1})
    assert ENGINE.interpret(spec).losses == ()
    assert ENGINE.interpret(llama({**YARN, "mscale": 1.0, "mscale_all_dim": 0.0})).losses == ()


def test_stale_keys_of_the_models_own_settings_survive_a_merge_that_does_not_clear_them() -> None:
    old = llama({**YARN, "beta_fast": 16.0, "truncate": False})
    bare = {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 4096}
    merged = ENGINE.read({"json_model_override_args": {"rope_scaling": bare}}, old)
    stretch: Any = merged.group.stretch
    assert (stretch.factor, stretch.beta_fast, stretch.truncate) == (2.0, 16.0, False)


def test_what_is_written_clears_the_stale_keys() -> None:
    wanted = llama(
        {"rope_type": "yarn", "rope_theta": 5e5, "factor": 2.0, "original_max_position_embeddings": 4096}, 8192
    )
    olds = [
        llama({**YARN, "beta_fast": 16.0, "truncate": False, "attention_factor": 3.0}),
        llama(
            {
                "rope_type": "llama3",
                "rope_theta": 5e5,
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192,
            }
        ),
    ]
    settings = ENGINE.write(wanted).settings
    for old in olds:
        found = ENGINE.interpret(ENGINE.read(settings, old)).spec.group
        np.testing.assert_allclose(found.frequencies(), wanted.group.frequencies(), rtol=1e-12)
        assert found.attention_factor() == pytest.approx(wanted.group.attention_factor())
    said = words(wanted)
    assert all(key in said for key in CLEARED)
    assert said["rope_theta"] == 5e5


def test_dynamic_is_fixed_at_factor_times_the_window() -> None:
    spec = llama({"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0}, 2048)
    found = ENGINE.interpret(spec)
    fixed = spec.group.frequencies(8192)
    for length in (None, 100, 8192):
        np.testing.assert_allclose(found.spec.group.frequencies(length), fixed, rtol=1e-12)
    (loss,) = found.losses
    assert "8192 tokens" in loss.what


def longrope(**more: Any) -> Spec:
    lists = {"short_factor": [1.0] * 32, "long_factor": [4.0] * 32, "factor": 4.0}
    rope = {"rope_type": "longrope", "rope_theta": 1e4, **lists, "original_max_position_embeddings": 4096, **more}
    return llama(rope, 16384)


def test_longrope_switches_one_token_late() -> None:
    group = ENGINE.interpret(longrope()).spec.group
    first = {n: float(group.frequencies(n)[0]) for n in (4096, 4097, 4098)}
    assert first == {4096: 1.0, 4097: 1.0, 4098: 0.25}
    assert group.attention_factor() == pytest.approx(math.sqrt(1 + math.log(4) / math.log(4096)))


def test_longropes_magnitude_is_said_by_its_mscales() -> None:
    spec = longrope(attention_factor=1.5)
    assert {loss.setting for loss in ENGINE.interpret(spec).losses} == {"long_factor", "attention_factor"}
    written = ENGINE.write(spec)
    assert {loss.setting for loss in written.losses} == {"long_factor"}
    assert ENGINE.interpret(ENGINE.read(written.settings, spec)).spec.group.attention_factor() == 1.5


def test_truncate_is_heeded_and_the_factor_of_proportional_is_not() -> None:
    assert ENGINE.interpret(llama({**YARN, "truncate": False})).losses == ()
    rope = {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.5, "factor": 8.0}
    assert [loss.setting for loss in ENGINE.interpret(llama(rope)).losses] == ["factor"]


def test_the_flags_can_be_pasted() -> None:
    flag, value, length_flag, length = shlex.split(ENGINE.write(llama(YARN)).text)
    assert (flag, length_flag, length) == ("--json-model-override-args", "--context-length", "163840")
    assert json.loads(value)["rope_scaling"]["factor"] == 40.0


@pytest.mark.parametrize(
    "settings",
    [
        {"rope_scaling": {}},
        {"json_model_override_args": []},
        {"json_model_override_args": {"rope_scaling": 5}},
        {"context_length": 1.5},
        {"json_model_override_args": {"rope_scaling": {"extrapolation_factor": 0.5}}},
    ],
    ids=str,
)
def test_words_that_sglang_does_not_have_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        ENGINE.read(settings, llama(YARN))
