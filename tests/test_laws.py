"""Laws that hold of every scheme and every scaling method that declares them, and fail of those that do not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_attention import rotate, turning_channels
from reference_scores import SCHEMES, along_axes, learned, of_kind, room, scores, turned

import ordinate
from ordinate.registry import lookup
from ordinate.scaling.longrope import LongRope
from ordinate.schemes.rope import Rope

SCALINGS = {name: lookup("ordinate.scaling", name, "scaling") for name in ordinate.scalings()}
SCHEME_TRAITS = {"shift_invariant", "norm_kept", "identity_at_zero", "linear_in_shift", "decreasing", "symmetric"}
SCALING_TRAITS = {"identity_at_one", "bounded", "ordered", "static"}
ROPE = Rope(head_dim=16)

seeds = st.integers(0, 2**32 - 1)
few_positions = st.lists(st.integers(0, 15), min_size=2, max_size=6, unique=True)
lengths = st.one_of(st.none(), st.integers(1, 10**6))


def declaring(trait, schemes):
    return [pytest.param(scheme, id=name) for name, scheme in schemes.items() if trait in scheme.traits]


def not_declaring(trait, schemes):
    return [pytest.param(scheme, id=name) for name, scheme in schemes.items() if trait not in scheme.traits]


def test_traits_are_words_that_have_a_law():
    for scheme in SCHEMES.values():
        assert scheme.traits <= SCHEME_TRAITS
    for method in SCALINGS.values():
        assert method.traits <= SCALING_TRAITS


def test_the_field_is_divided_as_the_papers_say():
    # A scheme that forgot its trait would pass no law and fail none: these are known beforehand.
    invariant = {name for name, scheme in SCHEMES.items() if "shift_invariant" in scheme.traits}
    assert {"rope", "axial", "multimodal", "xpos", "alibi", "t5", "none"} <= invariant
    assert not {"sinusoidal", "learned", "fire"} & invariant


def change_under_shift(scheme, row, shift, seed):
    tokens = np.random.default_rng(seed).standard_normal((len(row), 16))
    here, there = along_axes(scheme, row), along_axes(scheme, row) + shift
    values = learned(scheme, seed)
    before, after = (scores(scheme, tokens, positions, seed, values) for positions in (here, there))
    assert np.abs(before).max() > 1e-3
    return np.abs(after - before).max()


@pytest.mark.parametrize("scheme", declaring("shift_invariant", SCHEMES))
@given(few_positions, seeds, st.data())
def test_scores_do_not_change_when_all_positions_move(scheme, row, seed, data):
    shift = data.draw(st.integers(1, room(scheme) - 16))
    assert change_under_shift(scheme, row, shift, seed) < 1e-8


@pytest.mark.parametrize("scheme", not_declaring("shift_invariant", SCHEMES))
@given(few_positions, seeds, st.data())
def test_scores_of_the_other_schemes_do_change(scheme, row, seed, data):
    shift = data.draw(st.integers(room(scheme) // 2, room(scheme) - 16))
    assert change_under_shift(scheme, row, shift, seed) > 1e-6


@pytest.mark.parametrize("scheme", declaring("norm_kept", of_kind("rotary")))
@given(st.lists(st.integers(-1000, 2**23), min_size=1, max_size=5), seeds)
def test_a_rotation_keeps_the_length_of_q_and_k(scheme, row, seed):
    q, k = np.random.default_rng(seed).standard_normal((2, len(row), scheme.head_dim))
    for before, after in zip((q, k), turned(scheme, q, k, along_axes(scheme, row)), strict=True):
        assert np.linalg.norm(after, axis=-1) == pytest.approx(np.linalg.norm(before, axis=-1), rel=1e-12)


@pytest.mark.parametrize("scheme", not_declaring("norm_kept", of_kind("rotary")))
@given(st.integers(500, 5000), seeds)
def test_the_other_rotary_schemes_change_a_length(scheme, place, seed):
    q, k = np.random.default_rng(seed).standard_normal((2, 1, scheme.head_dim))
    changed, _ = turned(scheme, q, k, along_axes(scheme, [place]))
    assert np.linalg.norm(changed) != pytest.approx(np.linalg.norm(q), rel=1e-3)


def at_zero(scheme, seed):
    """What goes in and what comes out at position 0."""
    vectors = np.random.default_rng(seed).standard_normal((1, getattr(scheme, "dim", None) or scheme.head_dim))
    origin = along_axes(scheme, [0])
    if scheme.kind == "additive":
        return [vectors], [scheme.apply(vectors, origin, learned(scheme, seed))]
    return [vectors, vectors], turned(scheme, vectors, vectors, origin)


@pytest.mark.parametrize("scheme", declaring("identity_at_zero", of_kind("rotary", "additive")))
@given(seeds)
def test_position_0_is_the_identity(scheme, seed):
    before, after = at_zero(scheme, seed)
    assert all((one == other).all() for one, other in zip(before, after, strict=True))


@pytest.mark.parametrize("scheme", not_declaring("identity_at_zero", of_kind("rotary", "additive")))
def test_position_0_is_not_the_identity_of_the_others(scheme):
    before, after = at_zero(scheme, 5)
    assert any(np.abs(one - other).max() > 1e-3 for one, other in zip(before, after, strict=True))


def misfit(scheme, shift):
    """How far the best matrix from table(p) to table(p + shift) is off, at positions it was not fitted to."""
    values, generator = learned(scheme, 3), np.random.default_rng(shift)
    last = min(room(scheme), 2**20) - shift
    known = generator.choice(last, min(last, 8 * scheme.dim), replace=False)
    half = len(known) // 2
    assert half > scheme.dim, "the example is too short to tell"
    before, after = scheme.table(known, values), scheme.table(known + shift, values)
    matrix = np.linalg.lstsq(before[:half], after[:half], rcond=None)[0]
    return np.abs(before[half:] @ matrix - after[half:]).max()


@pytest.mark.parametrize("scheme", declaring("linear_in_shift", of_kind("additive")))
@given(st.integers(1, 1000))
def test_one_matrix_moves_every_position_by_k(scheme, shift):
    assert misfit(scheme, shift) < 1e-8


@pytest.mark.parametrize("scheme", not_declaring("linear_in_shift", of_kind("additive")))
def test_no_matrix_moves_the_positions_of_the_others(scheme):
    assert misfit(scheme, 5) > 1e-3


def by_distance(scheme, place, reach, seed, step=1):
    """The bias of one query towards keys ever further back: [heads, reach]."""
    return scheme.bias([place], place - step * np.arange(reach), learned=learned(scheme, seed))[:, 0]


WITHOUT_CONTENT = {name: scheme for name, scheme in of_kind("bias").items() if scheme.needs != "content"}


@pytest.mark.parametrize("scheme", declaring("decreasing", WITHOUT_CONTENT))
@given(st.integers(0, 10**5), seeds)
def test_a_bias_never_rises_with_distance(scheme, place, seed):
    assert (np.diff(by_distance(scheme, place, 300, seed)) <= 1e-12).all()
    assert (np.diff(by_distance(scheme, place, 300, seed, step=1000)) <= 1e-12).all()


@pytest.mark.parametrize("scheme", not_declaring("decreasing", WITHOUT_CONTENT))
def test_the_biases_of_the_others_rise_somewhere(scheme):
    assert any((np.diff(by_distance(scheme, 3000, 3000, seed)) > 1e-6).any() for seed in range(3))


def asymmetry(scheme, row, seed):
    bias = scheme.bias(row, row, learned=learned(scheme, seed))
    return np.abs(bias - bias.swapaxes(-1, -2)).max()


@pytest.mark.parametrize("scheme", declaring("symmetric", WITHOUT_CONTENT))
@given(st.lists(st.integers(0, 10**5), min_size=2, max_size=6), seeds)
def test_a_bias_is_the_same_both_ways(scheme, row, seed):
    assert asymmetry(scheme, row, seed) < 1e-12


@pytest.mark.parametrize("scheme", not_declaring("symmetric", WITHOUT_CONTENT))
def test_the_biases_of_the_others_are_not(scheme):
    assert any(asymmetry(scheme, [3, 40, 900], seed) > 1e-6 for seed in range(3))


@pytest.mark.parametrize("scheme", [pytest.param(s, id=n) for n, s in of_kind("rotary").items()])
@given(st.lists(st.integers(0, 2**22), min_size=1, max_size=4), st.integers(0, 2**22))
def test_angles_grow_in_proportion_to_position(scheme, row, shift):
    here, there = along_axes(scheme, row), along_axes(scheme, np.full(len(row), shift))
    together = scheme.angles(here) + scheme.angles(there)
    assert scheme.angles(here + there) == pytest.approx(together, rel=1e-15, abs=1e-9)
    assert (scheme.angles(2 * here) == 2 * scheme.angles(here)).all()


@pytest.mark.parametrize("scheme", [pytest.param(s, id=n) for n, s in of_kind("rotary").items()])
@given(seeds)
def test_turning_back_undoes_a_turn(scheme, seed):
    vectors = np.random.default_rng(seed).standard_normal((3, scheme.head_dim))
    angles, channels = scheme.angles(along_axes(scheme, [0, 7, 2**20])), turning_channels(scheme)
    assert rotate(rotate(vectors, angles, channels), -angles, channels) == pytest.approx(vectors, abs=1e-12)


# Scaling methods


def of_methods(trait=None, without=None):
    return [
        pytest.param(method, id=name)
        for name, method in SCALINGS.items()
        if (trait is None or trait in method.traits) and (without is None or without not in method.traits)
    ]


@pytest.mark.parametrize("method", of_methods("identity_at_one"))
@given(lengths)
def test_a_factor_of_1_changes_nothing(method, length):
    assert method.example(1.0).frequencies(ROPE, length) == pytest.approx(ROPE.plain(), rel=1e-15)
    assert method.example(1.0).attention_factor(length) == 1.0


@pytest.mark.parametrize("method", of_methods("bounded"))
@given(st.floats(1, 64), lengths)
def test_no_frequency_rises_and_none_falls_below_its_share(method, factor, length):
    frequencies, plain = method.example(factor).frequencies(ROPE, length), ROPE.plain()
    assert (frequencies <= plain * (1 + 1e-15)).all()
    assert (frequencies >= plain / factor * (1 - 1e-13)).all()
    assert frequencies[-1] == pytest.approx(plain[-1] / factor, rel=1e-12)


@pytest.mark.parametrize("method", of_methods("ordered"))
@given(st.floats(1, 64), lengths)
def test_faster_channels_stay_faster(method, factor, length):
    assert (np.diff(method.example(factor).frequencies(ROPE, length)) < 0).all()


def test_free_lists_may_change_the_order():
    # LongRoPE's lists are free, which is why it does not declare the law; the other methods all do.
    assert [parameter.id for parameter in of_methods(without="ordered")] == ["longrope"]
    scaling = LongRope((1.0,) * 8, (64.0,) + (1.0,) * 7, 64.0, original_max_position_embeddings=64)
    assert not (np.diff(scaling.frequencies(ROPE, 65)) < 0).all()


@pytest.mark.parametrize("method", of_methods("static"))
@given(st.floats(1, 64), st.integers(1, 10**9))
def test_the_length_changes_nothing(method, factor, length):
    scaling = method.example(factor)
    assert (scaling.frequencies(ROPE, length) == scaling.frequencies(ROPE)).all()
    assert scaling.attention_factor(length) == scaling.attention_factor()


@pytest.mark.parametrize("method", of_methods(without="static"))
def test_the_length_changes_what_the_others_do(method):
    scaling = method.example(4.0)
    assert (scaling.frequencies(ROPE, 10**5) != scaling.frequencies(ROPE)).any()


@pytest.mark.parametrize("method", of_methods())
@given(st.lists(st.integers(1, 4096), max_size=5), st.integers(1, 4096))
def test_equal_lengths_give_equal_tables_whatever_was_asked_before(method, asked, length):
    used = ordinate.LayerGroup("full_attention", ROPE, method.example(4.0))
    fresh = ordinate.LayerGroup("full_attention", ROPE, method.example(4.0))
    for other in asked:
        used.table(np.arange(3), length=other)
    positions = np.array([0, 1, length - 1])
    for one, other in zip(used.table(positions, length=length), fresh.table(positions, length=length), strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("method", of_methods())
@given(st.floats(1, 64), lengths, st.sampled_from([1e4, 5e5, 1e7]))
def test_frequencies_are_positive_numbers_one_a_pair(method, factor, length, base):
    rope = Rope(head_dim=32, rotary_dim=16, base=base)
    scaling = method.example(factor)
    frequencies = scaling.frequencies(rope, length)
    assert frequencies.dtype == np.float64
    assert frequencies.shape == (8,)
    assert (frequencies > 0).all()
    assert (frequencies <= 1).all()
    assert isinstance(scaling.attention_factor(length), float)
    assert 1 <= scaling.attention_factor(length) < 2


@pytest.mark.parametrize("method", of_methods())
def test_a_result_belongs_to_the_caller(method):
    scaling = method.example(4.0)
    first = scaling.frequencies(ROPE)
    kept = first.copy()
    first[:] = 7
    assert (scaling.frequencies(ROPE) == kept).all()


@pytest.mark.parametrize("method", of_methods())
@pytest.mark.parametrize("length", [0, -1, 2.0, "9", True])
def test_a_length_that_is_not_a_number_of_tokens_is_refused(method, length):
    scaling = method.example(4.0)
    for ask in (lambda: scaling.frequencies(ROPE, length), lambda: scaling.attention_factor(length)):
        with pytest.raises(ordinate.InputError, match="length must be an integer >= 1, got"):
            ask()
