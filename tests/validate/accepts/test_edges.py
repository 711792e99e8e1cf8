"""The lengths that are tried around those asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.errors import InputError
from ordinate.validate.accepts import edges
from ordinate.validate.accepts.degeneration import degenerate


@given(st.lists(st.integers(300, 200_000), min_size=1, max_size=5), st.integers(1, 300_000))
def test_each_length_its_neighbours_and_the_power_of_two_below_are_tried(lengths, limit):
    found = edges(lengths, limit=limit)
    assert list(found) == sorted(found)
    for length in lengths:
        power = 2 ** (length.bit_length() - 1)
        assert {length - 1, length, length + 1, power - 1, power} <= set(found)
        assert "asked" in found[length]
    assert max(found) == max(lengths) + 1
    assert (limit in found and "window" in found[limit]) == (min(lengths) - 1 <= limit <= max(lengths) + 1)


def test_windows_of_sliding_layers_are_tried_at_their_edges():
    found = edges([600, 5000], windows=[4096, 100])
    assert {4095, 4096, 4097} <= set(found)
    assert 100 not in found
    assert "window" in found[4096]


@pytest.mark.parametrize("lengths", [[], "512", [0], [True]])
def test_what_is_no_length_is_refused(lengths):
    with pytest.raises(InputError, match="length"):
        edges(lengths)


@pytest.mark.parametrize("text", ["", " \n", "....", "!?!?", "abcabcabcabcab", "no no no no", "12345678 " * 5])
def test_rubbish_is_told(text):
    assert degenerate(text) is not None


@pytest.mark.parametrize(
    "text", ["48213", " 11111.", "The code is 48213.", "no", "no no no", "abcabcabc", "ha ha ho ha"]
)
def test_an_answer_is_none(text):
    assert degenerate(text) is None
