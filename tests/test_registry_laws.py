"""What every scheme and every scaling method is, whatever it computes: frozen, named, described, pure."""

from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_scores import SCHEMES, along_axes, learned, of_kind

import ordinate
from ordinate.registry import lookup
from ordinate.schemes.base import Additive, Bias, Rotary, Scheme

METHODS = {name: lookup("ordinate.scaling", name, "scaling").example() for name in ordinate.scalings()}
EVERYTHING = [pytest.param(value, name, id=name) for name, value in (SCHEMES | METHODS).items()]
EVERY_SCHEME = [pytest.param(scheme, id=name) for name, scheme in SCHEMES.items()]
KINDS = {"additive": Additive, "rotary": Rotary, "bias": Bias, "none": Scheme}


def test_no_name_is_a_scheme_and_a_scaling_method():
    # "proportional" is one of each in configs; here it is a part of a rope and a method.
    assert not set(SCHEMES) & set(METHODS)
    assert len(SCHEMES) >= 15
    assert len(METHODS) >= 8


@pytest.mark.parametrize("value, name", EVERYTHING)
def test_a_file_is_named_after_what_is_in_it(value, name):
    assert type(value).name == name
    assert type(value).__module__.rpartition(".")[2] == name


@pytest.mark.parametrize("value, name", EVERYTHING)
def test_every_value_is_frozen_and_equal_to_its_like(value, name):
    assert is_dataclass(value)
    for field in [entry.name for entry in fields(value)] + ["anything"]:
        with pytest.raises(FrozenInstanceError):
            setattr(value, field, 1)
    again = type(value).example()
    assert again == value
    assert hash(again) == hash(value)
    assert replace(value) == value


@pytest.mark.parametrize("value, name", EVERYTHING)
def test_facts_are_sentences_of_one_line(value, name):
    for entry in fields(value.facts):
        text = getattr(value.facts, entry.name)
        assert text
        assert text == text.strip()
        assert "\n" not in text
    assert any(character.isdigit() for character in value.facts.source)


@pytest.mark.parametrize("value, name", EVERYTHING)
def test_every_formula_names_its_source_and_where_it_departs_from_it(value, name):
    assert "Source:" in type(value).__doc__
    assert "Differs from the paper:" in type(value).__doc__


@pytest.mark.parametrize("scheme", EVERY_SCHEME)
def test_a_scheme_is_of_its_kind(scheme):
    assert isinstance(scheme, KINDS[scheme.kind])
    assert type(scheme).example() is not scheme


@pytest.mark.parametrize("scheme", EVERY_SCHEME)
@given(st.integers(0, 1000))
def test_starting_values_have_the_declared_shape_and_range_and_depend_on_the_seed_alone(scheme, seed):
    first, again = scheme.initial(seed), scheme.initial(seed)
    assert first.keys() == scheme.parameters().keys()
    for name, parameter in scheme.parameters().items():
        assert first[name].shape == parameter.shape
        assert first[name].dtype == np.float64
        assert (first[name] == again[name]).all()
        assert (first[name] >= parameter.low).all()
        assert (first[name] <= parameter.high).all()
        if parameter.low < parameter.high:
            assert (first[name] != scheme.initial(seed + 1)[name]).any()


@pytest.mark.parametrize("scheme", EVERY_SCHEME)
def test_learned_numbers_of_other_names_or_shapes_are_refused(scheme):
    values = learned(scheme) or {}
    assert scheme.learned_values(values or None) == values
    with pytest.raises(ordinate.InputError, match=f"{scheme.name} learns .*, got .*surplus"):
        scheme.learned_values({**values, "surplus": np.zeros(1)})
    if not values:
        with pytest.raises(ordinate.InputError, match="learns nothing"):
            scheme.learned_values({"table": np.zeros(1)})
        return
    with pytest.raises(ordinate.InputError, match=r"must hold exactly these, got none"):
        scheme.learned_values(None)
    for name in values:
        with pytest.raises(ordinate.InputError, match=f"{scheme.name}: learned '{name}' must have shape"):
            scheme.learned_values({**values, name: np.zeros((1, 2, 3, 4, 5))})


@pytest.mark.parametrize("scheme", EVERY_SCHEME)
def test_costs_are_whole_numbers_that_never_fall_with_length(scheme):
    costs = [scheme.cost(tokens) for tokens in (1, 2, 100, 4096)]
    for cost in costs:
        assert cost.parameters == sum(value.size for value in scheme.initial().values())
        for number in (cost.parameters, cost.table_bytes, cost.operations):
            assert type(number) is int
            assert number >= 0
    for one, other in pairwise(costs):
        assert one.table_bytes <= other.table_bytes
        assert one.operations <= other.operations


def ask(scheme, positions):
    """Everything that a scheme computes from positions, as arrays."""
    if scheme.kind == "additive":
        return [scheme.table(positions, learned(scheme))]
    if scheme.kind == "rotary":
        return [scheme.angles(positions), *(scheme.magnitudes(positions) or ())]
    if scheme.kind == "bias":
        tokens = np.asarray(positions).shape[-1]
        content = {}
        if scheme.needs == "content":
            q, k = np.random.default_rng(0).standard_normal((2, tokens, scheme.heads, scheme.head_dim))
            content = {"q": q, "k": k}
        return [scheme.bias(positions, positions, learned=learned(scheme), **content)]
    return []


@pytest.mark.parametrize("scheme", EVERY_SCHEME)
def test_nothing_given_is_written_to_and_what_is_given_back_is_the_callers(scheme):
    positions = along_axes(scheme, [3, 0, 1])
    positions.flags.writeable = False
    results = ask(scheme, positions)
    kept = [result.copy() for result in results]
    for result in results:
        result += 1
    assert all((one == other).all() for one, other in zip(ask(scheme, positions), kept, strict=True))


@pytest.mark.parametrize("scheme", EVERY_SCHEME)
def test_results_are_float64_and_finite_and_no_positions_have_none(scheme):
    for result in ask(scheme, along_axes(scheme, [0, 1, 31])):
        assert result.dtype == np.float64
        assert np.isfinite(result).all()
    for result in ask(scheme, along_axes(scheme, np.zeros(0, dtype=np.int64))):
        assert result.size == 0


@pytest.mark.parametrize("scheme", [entry for entry in EVERY_SCHEME if entry.values[0].kind != "none"])
@pytest.mark.parametrize("kind", [float, bool, str])
def test_positions_are_integers(scheme, kind):
    with pytest.raises(ordinate.InputError, match="must be integers, got dtype"):
        ask(scheme, along_axes(scheme, [0, 1]).astype(kind))


@pytest.mark.parametrize("scheme", [entry for entry in EVERY_SCHEME if entry.values[0].kind != "none"])
def test_a_batch_of_positions_is_refused_where_one_row_is_asked_for(scheme):
    with pytest.raises(ordinate.InputError, match="must have shape"):
        ask(scheme, along_axes(scheme, [0, 1])[None])


@pytest.mark.parametrize("scheme", EVERY_SCHEME)
def test_small_and_unsigned_integers_are_positions_too(scheme):
    wide = ask(scheme, along_axes(scheme, [3, 0, 1]))
    for kind in (np.uint8, np.int32):
        narrow = ask(scheme, along_axes(scheme, [3, 0, 1]).astype(kind))
        assert all((one == other).all() for one, other in zip(wide, narrow, strict=True))


@pytest.mark.parametrize("scheme", [pytest.param(s, id=n) for n, s in of_kind("rotary").items()])
def test_a_rotary_scheme_says_how_many_pairs_turn(scheme):
    assert scheme.angles(along_axes(scheme, [0, 1])).shape == (2, scheme.pairs)
    assert scheme.plain().dtype == np.float64
    assert scheme.plain(scheme.base).tolist() == scheme.plain().tolist()
    assert scheme.plain(scheme.base * 2)[-1] < scheme.plain()[-1]
    assert scheme.rotary_dim <= scheme.head_dim
    assert scheme.pairing in ("half", "interleaved")
    with pytest.raises(ordinate.InputError, match="base must be > 0"):
        scheme.plain(-1.0)
