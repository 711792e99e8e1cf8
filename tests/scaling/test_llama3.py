import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_transformers import scaled

from ordinate import InputError
from ordinate.scaling.llama3 import Llama3
from ordinate.schemes.rope import Rope


def by_wavelength(rope, factor, length, low, high):
    """Meta's own way to say it: wavelengths against the two bounds, pair by pair."""
    frequencies = []
    for frequency in rope.plain():
        wavelength = 2 * math.pi / frequency
        if wavelength < length / high:
            frequencies.append(frequency)
        elif wavelength > length / low:
            frequencies.append(frequency / factor)
        else:
            smooth = (length / wavelength - low) / (high - low)
            frequencies.append((1 - smooth) * frequency / factor + smooth * frequency)
    return frequencies


def test_llama_3_1_keeps_29_pairs_divides_29_and_blends_6():
    # 8192 tokens, base 5e5, 64 pairs: 8192 / (2 pi 5e5 ** (i / 64)) turns; 4 at pair 28.3, 1 at pair 35.
    rope = Rope(head_dim=128, base=5e5)
    ratio = Llama3(8.0, original_max_position_embeddings=8192).frequencies(rope) / rope.plain()
    assert (ratio[:29] == 1).all()
    assert ratio[35:] == pytest.approx(np.full(29, 1 / 8), rel=1e-15)
    between = ratio[29:35]
    assert (np.diff(between) < 0).all()
    assert 1 / 8 < between.min() < between.max() < 1
    assert ratio * rope.plain() == pytest.approx(by_wavelength(rope, 8, 8192, 1, 4), rel=1e-13)


@given(
    st.floats(1, 64),
    st.integers(64, 32768),
    st.floats(0.5, 4),
    st.floats(0.01, 30),
    st.sampled_from([1e4, 5e5, 1e7]),
    st.sampled_from([8, 64, 128]),
)
def test_it_is_metas_rule_by_wavelength(factor, length, low, width, base, head_dim):
    rope = Rope(head_dim=head_dim, base=base)
    scaling = Llama3(factor, length, low_freq_factor=low, high_freq_factor=low + width)
    assert scaling.frequencies(rope) == pytest.approx(by_wavelength(rope, factor, length, low, low + width), rel=1e-9)


@settings(max_examples=40)
@given(
    st.floats(1, 64),
    st.sampled_from([256, 1024, 8192, 32768]),
    st.sampled_from([1.0, 0.7, 2.0]),
    st.sampled_from([4.0, 2.5, 32.0]),
    st.sampled_from([1e4, 5e5]),
    st.sampled_from([8, 64, 128]),
)
def test_it_agrees_with_transformers(factor, length, low, high, base, head_dim):
    expected, attention_factor = scaled(
        "llama3",
        head_dim=head_dim,
        base=base,
        factor=factor,
        original_max_position_embeddings=length,
        low_freq_factor=low,
        high_freq_factor=high,
    )
    scaling = Llama3(factor, length, low, high)
    assert scaling.frequencies(Rope(head_dim=head_dim, base=base), 10**6) == pytest.approx(expected, rel=4e-6)
    assert scaling.attention_factor() == attention_factor == 1.0


def test_equal_bounds_leave_no_band_as_in_llama_4():
    rope = Rope(head_dim=128, base=5e5)
    scaling = Llama3(16.0, 8192, low_freq_factor=1.0, high_freq_factor=1.0)
    ratio = scaling.frequencies(rope) / rope.plain()
    turns = 8192 * 5e5 ** (-np.arange(64) / 64) / (2 * math.pi)
    assert (ratio == np.where(turns > 1, 1.0, 1 / 16)).all()
    expected, _ = scaled(
        "llama3",
        head_dim=128,
        base=5e5,
        factor=16.0,
        original_max_position_embeddings=8192,
        low_freq_factor=1.0,
        high_freq_factor=1.0,
    )
    assert scaling.frequencies(rope) == pytest.approx(expected, rel=2e-6)


def test_without_a_band_a_pair_on_the_line_is_kept():
    # Pair 0 makes exactly 100 / (2 pi) turns in 100 tokens.
    line = 100 / (2 * math.pi)
    kept = Llama3(8.0, 100, low_freq_factor=line, high_freq_factor=line).frequencies(Rope(head_dim=4))
    assert kept.tolist() == [1.0, 0.01 / 8]


def test_the_usual_bounds_are_the_default():
    assert Llama3(8.0, 8192) == Llama3(8.0, 8192, low_freq_factor=1.0, high_freq_factor=4.0)
    assert Llama3.example(2.0) == Llama3(2.0, original_max_position_embeddings=8192)
    assert Llama3.example() == Llama3(4.0, original_max_position_embeddings=8192)


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"factor": 0.9}, "factor must be >= 1, got 0.9"),
        ({"factor": float("inf")}, "factor must be a finite number, got inf"),
        ({"original_max_position_embeddings": 0}, "original_max_position_embeddings must be an integer >= 1, got 0"),
        ({"original_max_position_embeddings": 8e3}, "original_max_position_embeddings must be an integer >= 1"),
        ({"low_freq_factor": 0.0}, "low_freq_factor must be > 0, got 0.0"),
        ({"high_freq_factor": -4.0}, "high_freq_factor must be > 0, got -4.0"),
        ({"high_freq_factor": 0.5}, "high_freq_factor must be >= low_freq_factor 1, got 0.5"),
        ({"low_freq_factor": "1"}, "low_freq_factor must be a finite number, got '1'"),
    ],
)
def test_fields_out_of_range_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        Llama3(**{"factor": 8.0, "original_max_position_embeddings": 8192, **fields})
