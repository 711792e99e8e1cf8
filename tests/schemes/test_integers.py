"""Positions that float64 cannot hold are refused wherever in the list they are."""

import numpy as np
import pytest

from ordinate.errors import InputError
from ordinate.schemes.rope import Rope
from ordinate.schemes.t5 import T5


@pytest.mark.parametrize("beyond", [2**53 + 1, -(2**53) - 1])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_position_beyond_is_enough(beyond, place):
    positions = np.array([5, 6, 7])
    positions[place] = beyond
    with pytest.raises(InputError, match="within 2\\*\\*53 of 0"):
        Rope(head_dim=4).angles(positions)
    with pytest.raises(InputError, match="within 2\\*\\*53 of 0"):
        T5.example().bucket(positions)


def test_the_last_that_is_held_is_taken():
    assert Rope(head_dim=2, base=10.0).angles(np.array([2**53, -(2**53)])).ravel().tolist() == [2.0**53, -(2.0**53)]
