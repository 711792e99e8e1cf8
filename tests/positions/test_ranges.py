import numpy as np
import pytest

from ordinate import InputError, positions


def test_a_range_counts_from_its_offset():
    assert positions.arange(4).tolist() == [0, 1, 2, 3]
    # Three queries against five keys, two of them cached: the queries stand at the end.
    assert positions.arange(3, offset=2).tolist() == [2, 3, 4]
    assert positions.arange(0, offset=7).shape == (0,)


def test_a_second_offset_is_not_answered_with_the_first_ones_positions():
    assert positions.arange(4, offset=0).tolist() == [0, 1, 2, 3]
    assert positions.arange(4, offset=10).tolist() == [10, 11, 12, 13]


def test_positions_are_int64_even_far_out():
    far = positions.arange(2, offset=2**33)
    assert far.dtype == np.int64
    assert far.tolist() == [2**33, 2**33 + 1]


@pytest.mark.parametrize(
    "arguments, name",
    [
        ((-1,), "tokens"),
        ((2.0,), "tokens"),
        ((True,), "tokens"),
        (("3",), "tokens"),
        ((3, -1), "offset"),
        ((3, 0.5), "offset"),
        ((3, False), "offset"),
    ],
)
def test_a_range_of_something_else_is_refused(arguments, name):
    with pytest.raises(InputError, match=f"{name} must be an integer >= 0, got"):
        positions.arange(*arguments)
