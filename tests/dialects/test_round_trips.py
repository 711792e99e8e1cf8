"""The law of every dialect, over all golden architectures and drawn scalings."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordinate
from ordinate import registry
from ordinate.dialects._own_words import OwnWords
from ordinate.dialects.base import Dialect, Written
from ordinate.errors import InputError
from ordinate.schemes.base import Rotary
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup, Spec

GOLDEN = Path(__file__).parents[1] / "golden"
TOLERANCE = 1e-6
# What counts as a difference where a loss says that there is one.
SLIGHT = 1e-10
# Losses whose sentence says that frequencies or magnitudes differ.
OF_TABLES = ("frequencies change", "the magnitude")


def configs(name: str) -> list[dict[str, Any]]:
    return [case["config"] for case in json.loads((GOLDEN / name).read_text(encoding="utf-8"))["cases"]]


@cache
def specs() -> tuple[Spec, ...]:
    files = ("huggingface_architectures.json", "huggingface_rope_draws.json")
    return tuple(ordinate.read(config) for name in files for config in configs(name))


def dialects() -> list[str]:
    return registry.names("ordinate.dialects")


def dialect(name: str) -> Dialect:
    return registry.lookup("ordinate.dialects", name, "engine")()


def lengths(spec: Spec) -> list[int | None]:
    trained = spec.window.trained
    return [None, *sorted({n for n in (trained, trained and trained + 1, spec.window.declared) if n is not None})]


def largest_difference(ours: LayerGroup, theirs: LayerGroup, length: int | None) -> float:
    """The largest relative difference in frequency or magnitude; infinite where there is no comparison."""
    if not isinstance(ours.encoding, Rotary):
        return 0.0
    if not isinstance(theirs.encoding, Rotary):
        return np.inf
    a, b = ours.frequencies(length), theirs.frequencies(length)
    if a.shape != b.shape:
        return np.inf
    larger = np.maximum(np.abs(a), np.abs(b))
    frequencies = float((np.abs(a - b) / np.where(larger > 0, larger, 1)).max())
    magnitudes = ours.attention_factor(length), theirs.attention_factor(length)
    return max(frequencies, abs(magnitudes[0] - magnitudes[1]) / max(magnitudes))


def differs(ours: Spec, theirs: Spec, tolerance: float) -> bool:
    assert ours.groups.keys() == theirs.groups.keys()
    return any(
        largest_difference(ours.groups[name], theirs.groups[name], length) > tolerance
        for name in ours.groups
        for length in lengths(ours)
    )


def test_specs_are_those_of_all_golden_cases():
    assert len(specs()) == 150 + 72


@cache
def translations(name: str) -> tuple[tuple[Spec, Written | None], ...]:
    """Each golden spec as the engine writes it; None where it has no words for it."""
    engine, found = dialect(name), []
    for spec in specs():
        try:
            found.append((spec, engine.write(spec)))
        except InputError:
            found.append((spec, None))
    return tuple(found)


@pytest.mark.parametrize("name", dialects())
def test_what_is_written_and_read_back_runs_as_the_source_or_a_loss_says_why(name):
    engine = dialect(name)
    compared = 0
    for spec, written in translations(name):
        if written is None:
            kinds = [type(group.encoding) for group in spec.groups.values()]
            assert not any(kind in (Rope, Multimodal) for kind in kinds), (spec.architecture, kinds)
            continue
        run = engine.interpret(engine.read(written.settings, spec)).spec
        assert written.losses or not differs(spec, run, TOLERANCE), spec.architecture
        claims = [loss for loss in written.losses if any(word in loss.what for word in OF_TABLES)]
        assert not claims or differs(spec, run, SLIGHT), (spec.architecture, claims)
        compared += 1
    assert compared > 190


@pytest.mark.parametrize("name", dialects())
def test_settings_are_plain_json(name):
    for _, written in translations(name):
        if written is not None:
            assert json.loads(json.dumps(dict(written.settings), allow_nan=False)) == written.settings


@pytest.mark.parametrize("name", dialects())
def test_every_loss_names_a_setting_a_sentence_and_a_place(name):
    for spec, written in translations(name):
        for loss in written.losses if written is not None else ():
            assert loss.setting
            assert len(loss.what) > 20
            assert "\n" not in loss.what
            assert "/" in loss.source
            assert loss.group in (*spec.groups, None)


@pytest.mark.parametrize("name", [name for name in dialects() if isinstance(dialect(name), OwnWords)])
def test_writing_again_what_was_read_back_without_a_loss_gives_the_same_words(name):
    engine = dialect(name)
    for spec, written in translations(name):
        if written is not None and not written.losses:
            again = engine.write(engine.read(written.settings, spec))
            assert again.settings == written.settings, spec.architecture
