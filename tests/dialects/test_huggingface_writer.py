"""What is written for transformers reads back as what was meant; what cannot be said is a loss."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordinate
from ordinate.dialects import huggingface
from ordinate.errors import InputError
from ordinate.registry import lookup
from ordinate.scaling.linear import Linear
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.base import Rotary
from ordinate.schemes.cope import Cope
from ordinate.schemes.rope import Rope
from ordinate.spec import Spec

GOLDEN = Path(__file__).parents[1] / "golden"
TOLERANCE = 1e-6


def cases(name: str) -> list[dict[str, Any]]:
    return json.loads((GOLDEN / name).read_text(encoding="utf-8"))["cases"]


ARCHITECTURES = cases("huggingface_architectures.json")
DRAWS = cases("huggingface_rope_draws.json")


def assert_same_tables(spec: Spec, found: Spec) -> None:
    lengths = {None, 1, spec.window.trained, spec.window.declared}
    lengths |= {length + 1 for length in lengths if length is not None}
    for name, group in spec.groups.items():
        if isinstance(group.encoding, Rotary):
            other = found.groups[name]
            for length in lengths:
                ours, theirs = group.frequencies(length), other.frequencies(length)
                np.testing.assert_allclose(theirs, ours, rtol=TOLERANCE, atol=0)
                assert other.attention_factor(length) == pytest.approx(group.attention_factor(length), rel=TOLERANCE)


@pytest.mark.parametrize("case", ARCHITECTURES, ids=lambda c: f"{c['model']}-{c['config_cls']}")
def test_every_architecture_reads_back_as_it_was(case: dict[str, Any]) -> None:
    spec = ordinate.read(case["config"])
    written = huggingface.write(spec)
    found = ordinate.read(dict(written.settings))
    assert_same_tables(spec, found)
    assert json.loads(written.text) == written.settings
    if all(group.heads is None or group.heads.head_dim % 2 == 0 for group in spec.groups.values()):
        assert written.losses == ()
        assert found.window == spec.window
        shown = [replace(group, pairing=None) for group in found.groups.values()]
        assert shown == [replace(group, pairing=None) for group in spec.groups.values()]


@pytest.mark.parametrize("case", DRAWS, ids=lambda c: str(c["config"]["rope_parameters"]["rope_type"]))
def test_every_drawn_scaling_reads_back_as_it_was(case: dict[str, Any]) -> None:
    spec = ordinate.read(case["config"])
    written = huggingface.write(spec)
    assert written.losses == ()
    found = ordinate.read(dict(written.settings))
    assert_same_tables(spec, found)
    assert found.group.encoding == spec.group.encoding
    assert found.group.scaling == spec.group.scaling
    assert found.window == spec.window


@pytest.mark.parametrize("model_type", huggingface.model_types())
def test_every_default_reads_back_also_where_nothing_rotates(model_type: str) -> None:
    known = huggingface.architecture(model_type)
    assert known is not None
    try:
        spec = ordinate.read({"model_type": model_type, **known.defaults})
    except InputError:
        return
    written = huggingface.write(spec)
    assert_same_tables(spec, ordinate.read(dict(written.settings)))
    if all(group.heads is None or group.heads.head_dim % 2 == 0 for group in spec.groups.values()):
        assert written.losses == ()


LLAMA = {
    "model_type": "llama",
    "head_dim": 64,
    "num_attention_heads": 8,
    "num_hidden_layers": 4,
    "max_position_embeddings": 4096,
    "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0},
}


def stretched(config: dict[str, Any], scaling: Any) -> Spec:
    spec = ordinate.read(config)
    return replace(spec, groups={"full_attention": replace(spec.group, stretch=scaling)})


def test_max_position_embeddings_counts_before_linear_scaling_and_after_yarn() -> None:
    linear = stretched(LLAMA, Linear(4.0))
    linear = replace(linear, window=replace(linear.window, declared=16384))
    assert huggingface.write(linear).settings["max_position_embeddings"] == 4096
    yarn = replace(linear, groups=stretched(LLAMA, Yarn(4.0, 4096)).groups)
    written = huggingface.write(yarn).settings
    assert written["max_position_embeddings"] == 16384
    assert written["rope_parameters"]["original_max_position_embeddings"] == 4096


def test_the_base_is_never_dropped() -> None:
    for scaling in (None, Linear(2.0), Yarn(2.0, 4096), Ntk(4.0)):
        assert "rope_theta" in huggingface.write(stretched(LLAMA, scaling)).settings["rope_parameters"]


def test_a_ramp_over_turns_has_no_word_and_is_said_as_a_divisor_for_each_pair() -> None:
    spec = stretched(LLAMA, Yarn(4.0, 4096, ramp="turns"))
    spec = replace(spec, window=replace(spec.window, declared=4096))
    written = huggingface.write(spec)
    assert written.settings["rope_parameters"]["rope_type"] == "longrope"
    assert written.losses == ()
    assert_same_tables(spec, ordinate.read(dict(written.settings)))


def test_phi3_takes_yarn_for_longrope_so_that_it_is_said_as_divisors() -> None:
    phi3 = {**LLAMA, "model_type": "phi3", "original_max_position_embeddings": 4096}
    spec = stretched(phi3, Yarn(4.0, 4096))
    spec = replace(spec, window=replace(spec.window, declared=4096))
    assert_same_tables(spec, ordinate.read(dict(huggingface.write(spec).settings)))


def test_a_share_that_an_architecture_overlooks_is_a_loss() -> None:
    spec = ordinate.read(LLAMA)
    half = replace(spec.group, encoding=Rope(head_dim=64, rotary_dim=32, base=500000.0))
    losses = huggingface.write(replace(spec, groups={"full_attention": half})).losses
    assert any(loss.setting == "partial_rotary_factor" for loss in losses)
    assert all("huggingface/transformers" in loss.source for loss in losses)


def test_weights_in_another_layout_are_a_step_and_no_loss() -> None:
    spec = ordinate.read(LLAMA)
    turned = replace(spec, groups={"full_attention": replace(spec.group, pairing="interleaved")})
    written = huggingface.write(turned)
    assert written.losses == ()
    assert len(written.steps) == 1
    assert "interleaved" in written.steps[0]
    assert huggingface.write(spec).steps == ()


def test_a_scheme_that_no_configuration_says_is_refused() -> None:
    spec = ordinate.read(LLAMA)
    other = replace(spec.group, encoding=Cope.example(), stretch=None)
    with pytest.raises(InputError):
        huggingface.write(replace(spec, groups={"full_attention": other}))


def test_the_engine_is_found_by_its_name() -> None:
    assert lookup("ordinate.dialects", "huggingface", "engine").version == "5.24.0"
