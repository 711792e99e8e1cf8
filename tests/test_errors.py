"""The checks that every constructor and reader shares."""

import math
import re

import numpy as np
import pytest

from ordinate import errors
from ordinate.errors import InputError


@pytest.mark.parametrize("value", [True, "1", None, math.nan, math.inf, -math.inf, 10**400, 1j, [1]])
def test_what_is_no_finite_number_is_refused(value):
    with pytest.raises(InputError, match="base must be a finite number, got"):
        errors.finite("base", value)


@pytest.mark.parametrize("value", [0, -1.5, np.float32(2.5), np.int64(3), 1e308])
def test_a_finite_number_becomes_a_float(value):
    number = errors.finite("base", value)
    assert type(number) is float
    assert number == value


@pytest.mark.parametrize("value", [0, -1, -1e-300])
def test_positive_means_above_zero(value):
    with pytest.raises(InputError, match=r"factor must be > 0, got"):
        errors.positive("factor", value)


def test_at_least_takes_its_bound():
    assert errors.at_least("factor", 1, 1) == 1.0
    with pytest.raises(InputError, match=re.escape("factor must be >= 1, got 0.999")):
        errors.at_least("factor", 0.999, 1)


@pytest.mark.parametrize("value", [0, -3, 1.0, True, "2", None])
def test_positive_integer_takes_integers_from_one(value):
    with pytest.raises(InputError, match="heads must be an integer >= 1, got"):
        errors.positive_integer("heads", value)


def test_positive_integer_accepts_numpys_integers():
    assert errors.positive_integer("heads", np.int32(1)) == 1


def test_even_integer_says_why():
    assert errors.even_integer("rotary_dim", 2) == 2
    with pytest.raises(InputError, match="rotary_dim must be even, because rotary channels turn in pairs, got 33"):
        errors.even_integer("rotary_dim", 33)


def test_one_of_names_the_choices():
    assert errors.one_of("pairing", "half", ("half", "interleaved")) == "half"
    with pytest.raises(InputError, match="pairing must be one of half, interleaved, got 'neox'"):
        errors.one_of("pairing", "neox", ("half", "interleaved"))


def test_what_was_got_stays_short_and_on_one_line():
    with pytest.raises(InputError) as caught:
        errors.positive_integer("heads", list(range(10000)))
    assert len(str(caught.value)) < 120
    assert "\n" not in str(caught.value)
