"""Settings from strangers, in every engine's words: the answer is a spec or one line."""

import inspect
import json
import math
import tracemalloc
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ordinate
from ordinate import registry
from ordinate.dialects.base import Dialect
from ordinate.errors import InputError
from ordinate.schemes.base import Rotary
from ordinate.spec import Spec

GOLDEN = Path(__file__).parents[1] / "golden" / "huggingface_architectures.json"
MEBIBYTE = 2**20

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 300000),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0, 1, 2**63, 10**300, 10**400, -1, math.nan, math.inf, -math.inf, 0.5, 1e-300, 1e300, 8.0, 4096]),
    st.sampled_from(["", "yarn", "linear", "llama", "llama3", "llama3.1", "default", "su", "none", "a\nb", "\x1b[31m"]),
)


@cache
def dialect(name: str) -> Dialect:
    return registry.lookup("ordinate.dialects", name, "engine")()


@cache
def models() -> tuple[Spec, ...]:
    """One golden model of each kind: by scheme, part of the head, scaling, shape of attention and kinds of layers."""
    cases = json.loads(GOLDEN.read_text(encoding="utf-8"))["cases"]
    found: dict[Any, Spec] = {}
    for case in cases:
        spec = ordinate.read(case["config"])
        kind = {
            (group.scheme, getattr(group.encoding, "part", ""), group.scaling, group.heads and group.heads.kind)
            for group in spec.groups.values()
        }
        found.setdefault(frozenset(kind), spec)
    return tuple(found.values())


@cache
def written(name: str) -> tuple[tuple[Spec, dict[str, Any]], ...]:
    """What the engine itself writes, to be spoilt."""
    found = []
    for model in models():
        try:
            found.append((model, dict(dialect(name).write(model).settings)))
        except InputError:
            continue
    return tuple(found)


def words(name: str) -> list[str]:
    """Every word that the engine's module names: sets of words in it, and what it writes."""
    module = inspect.getmodule(type(dialect(name)))
    sets = [value for key, value in vars(module).items() if key.isupper() and isinstance(value, (frozenset, tuple))]
    named = {word for value in sets for word in value if isinstance(word, str)}
    return sorted(named | {word for _, settings_ in written(name) for word in settings_} | {"rope_parameters", "a\nb"})


def nested(keys: list[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        scalars,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.dictionaries(st.one_of(st.sampled_from(keys), st.text()), inner, max_size=5)
        ),
        max_leaves=8,
    )


def spoil(data: st.DataObject, value: Any, values: st.SearchStrategy[Any], keys: list[str]) -> Any:
    """A copy of what was written in which something, perhaps deep within, is another."""
    if isinstance(value, dict) and value and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: spoil(data, value[key], values, keys)}
    if isinstance(value, dict):
        return {**value, **data.draw(st.dictionaries(st.sampled_from(keys), values, min_size=1, max_size=3))}
    return data.draw(values)


def check(spec: Spec, engine: Dialect) -> None:
    """A spec from a stranger can be used: tables are finite, or the refusal is one line."""
    try:
        run = engine.interpret(spec).spec
        for group in run.groups.values():
            if isinstance(group.encoding, Rotary):
                assert np.isfinite(group.frequencies(4097)).all()
                assert math.isfinite(group.attention_factor(4097))
    except InputError as error:
        assert_one_line(error)


def assert_one_line(error: InputError) -> None:
    assert "\n" not in str(error)
    assert len(str(error)) < 2000


@pytest.mark.parametrize("name", registry.names("ordinate.dialects"))
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_spoilt_settings_give_a_spec_or_one_line(name: str, data: st.DataObject) -> None:
    engine = dialect(name)
    model, said = data.draw(st.sampled_from(written(name)))
    keys = words(name)
    values = nested(keys)
    given_settings = spoil(data, said, values, keys)
    try:
        spec = engine.read(given_settings, model)
    except InputError as error:
        assert_one_line(error)
        return
    assert isinstance(spec, Spec)
    check(spec, engine)


@pytest.mark.parametrize("value", [None, [], ["rope_theta"], "rope_theta", 1, 0.5, True], ids=repr)
@pytest.mark.parametrize("name", registry.names("ordinate.dialects"))
def test_settings_that_are_no_object_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match="must be an object") as refused:
        dialect(name).read(value, models()[0])
    assert_one_line(refused.value)


@pytest.mark.parametrize("name", registry.names("ordinate.dialects"))
def test_large_settings_are_bounded(name: str) -> None:
    engine = dialect(name)
    model, said = written(name)[0]
    large: dict[str, Any] = {key: [1.0] * 100_000 for key in words(name)}
    tracemalloc.start()
    try:
        for given_settings in (large, *({**said, key: value} for key, value in large.items())):
            try:
                engine.interpret(engine.read(given_settings, model))
            except InputError as error:
                assert_one_line(error)
        assert tracemalloc.get_traced_memory()[1] < 64 * MEBIBYTE
    finally:
        tracemalloc.stop()


def test_every_kind_of_model_is_tried() -> None:
    assert len(models()) >= 12
    assert all(len(written(name)) >= 10 for name in registry.names("ordinate.dialects"))
