import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_transformers import scaled

from ordinate import InputError, LayerGroup
from ordinate.scaling.longrope import LongRope
from ordinate.schemes.rope import Rope

PHI = LongRope((1.0,) * 4, (2.0, 4.0, 8.0, 16.0), factor=32.0, original_max_position_embeddings=4096)


def test_the_list_changes_after_the_trained_length_and_not_at_it():
    rope = Rope(head_dim=8)
    plain = np.array([1, 0.1, 0.01, 0.001])
    for length in (None, 1, 4095, 4096):
        assert PHI.frequencies(rope, length) == pytest.approx(plain, rel=1e-15)
    for length in (4097, 10**6):
        assert PHI.frequencies(rope, length) == pytest.approx(plain / [2, 4, 8, 16], rel=1e-15)


def test_short_divisors_divide_too():
    scaling = LongRope((2.0, 1.0), (4.0, 8.0), 2.0, 64)
    assert scaling.frequencies(Rope(head_dim=4), 64) == pytest.approx([0.5, 0.01], rel=1e-15)
    assert scaling.frequencies(Rope(head_dim=4), 65) == pytest.approx([0.25, 0.01 / 8], rel=1e-15)


def test_keys_before_and_after_the_change_share_no_table():
    # Engines that keep keys rotated by the short list when the text grows past 4096 tokens mix these two.
    group = LayerGroup("full_attention", Rope(head_dim=8), PHI)
    before, after = group.table([4000], length=4096), group.table([4000], length=4097)
    assert not np.allclose(before[0], after[0], atol=1e-3)
    assert (group.table([4000], length=5000)[0] == after[0]).all()


def test_the_magnitude_is_that_of_phi_3_in_both_regimes():
    # sqrt(1 + ln 32 / ln 4096) = sqrt(1 + 5 / 12)
    for length in (None, 1, 4097):
        assert PHI.attention_factor(length) == pytest.approx(math.sqrt(1 + 5 / 12), rel=1e-15)


@pytest.mark.parametrize("factor", [0.25, 0.999, 1.0])
def test_a_factor_of_1_or_less_has_no_magnitude(factor):
    assert LongRope((1.0,), (1.0,), factor, 1).attention_factor() == 1.0
    assert LongRope((1.0,), (1.0,), factor, 4096).attention_factor(5000) == 1.0


def test_a_magnitude_that_is_given_replaces_the_computed_one():
    for factor in (0.5, 32.0):
        scaling = LongRope((1.0,), (2.0,), factor, 4096, magnitude_factor=1.25)
        assert scaling.attention_factor() == 1.25
        assert scaling.attention_factor(10**5) == 1.25
    assert LongRope((1.0,), (2.0,), 32.0, 1, magnitude_factor=2).attention_factor() == 2.0


@st.composite
def lists(draw):
    pairs = draw(st.integers(1, 16))
    entries = st.lists(st.floats(0.5, 64), min_size=pairs, max_size=pairs)
    return draw(entries), draw(entries)


@settings(max_examples=40)
@given(
    lists(),
    st.floats(0.5, 64),
    st.sampled_from([64, 4096]),
    st.one_of(st.none(), st.floats(0.5, 2)),
    st.sampled_from([None, 1, 64, 65, 4096, 4097, 10**5]),
)
def test_it_agrees_with_transformers(divisors, factor, original, magnitude, length):
    short, long = divisors
    optional = {} if magnitude is None else {"attention_factor": magnitude}
    expected, attention_factor = scaled(
        "longrope",
        head_dim=2 * len(short),
        base=1e4,
        length=length,
        short_factor=short,
        long_factor=long,
        factor=factor,
        original_max_position_embeddings=original,
        **optional,
    )
    scaling = LongRope(tuple(short), tuple(long), factor, original, magnitude)
    assert scaling.frequencies(Rope(head_dim=2 * len(short)), length) == pytest.approx(expected, rel=2e-6)
    assert scaling.attention_factor(length) == pytest.approx(attention_factor, rel=1e-12)


def test_lists_become_tuples_of_floats():
    scaling = LongRope([1, 2], [3, 4], 2.0, 64)
    assert scaling.short_factor == (1.0, 2.0)
    assert scaling.long_factor == (3.0, 4.0)
    assert hash(scaling) == hash(LongRope((1.0, 2.0), (3.0, 4.0), 2.0, 64))


def test_a_list_of_another_length_than_the_pairs_is_refused_when_it_is_used():
    scaling = LongRope((1.0, 1.0), (1.0, 1.0, 1.0), 2.0, 64)
    with pytest.raises(InputError, match="short_factor must have one entry for each of 4 pairs, got 2"):
        scaling.frequencies(Rope(head_dim=8))
    with pytest.raises(InputError, match="long_factor must have one entry for each of 4 pairs, got 3"):
        scaling.frequencies(Rope(head_dim=8), 65)
    # A single entry must not be spread over all pairs.
    with pytest.raises(InputError, match="short_factor must have one entry for each of 4 pairs, got 1"):
        LongRope((1.0,), (1.0,), 2.0, 64).frequencies(Rope(head_dim=8))


def test_the_example_is_for_8_pairs():
    scaling = LongRope.example(3.0)
    assert scaling.short_factor == (1.0,) * 8
    assert scaling.long_factor[0] == 1.0
    assert scaling.long_factor[-1] == 3.0
    assert len(scaling.long_factor) == 8
    assert (scaling.factor, scaling.original_max_position_embeddings) == (3.0, 64)
    assert LongRope.example().factor == 4.0


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"short_factor": ()}, r"short_factor must be a list of divisors, one a pair, got \(\)"),
        ({"long_factor": 2.0}, r"long_factor must be a list of divisors, one a pair, got 2\.0"),
        ({"long_factor": "12"}, "long_factor must be a list of divisors"),
        ({"short_factor": (1.0, 0.0)}, r"short_factor\[1\] must be > 0, got 0\.0"),
        ({"long_factor": (float("nan"), 1.0)}, r"long_factor\[0\] must be a finite number, got nan"),
        ({"factor": 0.0}, r"factor must be > 0, got 0\.0"),
        ({"original_max_position_embeddings": 0}, "original_max_position_embeddings must be an integer >= 1, got 0"),
        ({"original_max_position_embeddings": 1}, "original_max_position_embeddings must be >= 2 .*, got 1"),
        ({"magnitude_factor": 0.0}, r"attention_factor must be > 0, got 0\.0"),
        ({"magnitude_factor": float("inf")}, "attention_factor must be a finite number, got inf"),
    ],
)
def test_fields_out_of_range_are_refused(fields, message):
    valid = {
        "short_factor": (1.0, 1.0),
        "long_factor": (2.0, 2.0),
        "factor": 2.0,
        "original_max_position_embeddings": 64,
    }
    with pytest.raises(InputError, match=message):
        LongRope(**{**valid, **fields})


def test_two_tokens_are_enough_for_a_magnitude():
    assert LongRope((1.0,), (1.0,), 2.0, 2).attention_factor() == pytest.approx(math.sqrt(2), rel=1e-15)
