"""Every golden case: what transformers 5.24 computed from a configuration, from the configuration alone."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordinate
from ordinate.schemes.base import Rotary

GOLDEN = Path(__file__).parent / "golden"
TOLERANCE = 2e-6
WORDS = ("half", "interleaved", "interleaved-in-half-out")
QUARTER_TURN_THE_OTHER_WAY = "[5.0, 6.0, 7.0, 8.0, -1.0, -2.0, -3.0, -4.0]"


def cases(name: str) -> list[dict[str, Any]]:
    return json.loads((GOLDEN / name).read_text(encoding="utf-8"))["cases"]


ARCHITECTURES = cases("huggingface_architectures.json")
DRAWS = cases("huggingface_rope_draws.json")


def assert_close(computed: Any, expected: Any) -> None:
    computed, expected = np.asarray(computed), np.asarray(expected)
    assert computed.shape == expected.shape
    np.testing.assert_allclose(computed, expected, rtol=TOLERANCE, atol=0)


def rotating(spec: ordinate.Spec, buffer: str) -> list[ordinate.LayerGroup]:
    """The groups that a buffer of transformers' rotary class belongs to: the layer type's, or all that rotate."""
    layer_type = buffer.removesuffix("inv_freq").removesuffix("attention_scaling").rstrip("_")
    if layer_type:
        return [spec.groups[layer_type]]
    found = [group for group in spec.groups.values() if isinstance(group.encoding, Rotary)]
    assert found
    return found


def architecture_id(case: dict[str, Any]) -> str:
    return f"{case['model']}-{case['config_cls']}"


def test_all_cases_are_there() -> None:
    assert (len(ARCHITECTURES), len(DRAWS)) == (150, 72)
    assert sum(len(case["inv_freq"]) for case in ARCHITECTURES) >= 150


@pytest.mark.parametrize("case", ARCHITECTURES, ids=architecture_id)
def test_frequencies_of_an_architecture_are_those_of_transformers(case: dict[str, Any]) -> None:
    spec = ordinate.read(case["config"])
    assert case["inv_freq"]
    for buffer, expected in case["inv_freq"].items():
        for group in rotating(spec, buffer):
            assert_close(group.frequencies(), expected)
    for buffer, expected in case["att"].items():
        for group in rotating(spec, buffer):
            assert_close(group.attention_factor(), expected)


@pytest.mark.parametrize("case", ARCHITECTURES, ids=architecture_id)
def test_pairing_of_an_architecture_is_that_of_transformers(case: dict[str, Any]) -> None:
    spec = ordinate.read(case["config"])
    groups = [group for buffer in case["inv_freq"] for group in rotating(spec, buffer)]
    words = {word for word in case["pairing"].values() if word in WORDS}
    if QUARTER_TURN_THE_OTHER_WAY in case["pairing"].values():
        assert {(group.pairing, getattr(group.rope, "direction", 1)) for group in groups} == {("half", -1)}
        return
    assert all(getattr(group.rope, "direction", 1) == 1 for group in groups)
    # Where transformers has no function of the usual form, the table is from its code: any word but "unknown".
    assert {group.pairing for group in groups} <= (words or set(WORDS))


def test_how_many_pairings_the_golden_file_settles_alone() -> None:
    settled = [
        case for case in ARCHITECTURES if len(case["pairing"]) == 1 and set(case["pairing"].values()) <= {*WORDS}
    ]
    assert len(settled) >= 100


def draw_id(case: dict[str, Any]) -> str:
    rope = case["config"]["rope_parameters"]
    return f"{rope['rope_type']}-{rope.get('factor')}-{case['config']['head_dim']}"


@pytest.mark.parametrize("case", DRAWS, ids=draw_id)
def test_a_drawn_scaling_is_that_of_transformers_at_every_length(case: dict[str, Any]) -> None:
    group = ordinate.read(case["config"]).group
    assert case["outputs"]
    for output in case["outputs"]:
        assert_close(group.frequencies(output["seq_len"]), output["inv_freq"])
        assert_close(group.attention_factor(output["seq_len"]), output["attention_scaling"])
