"""Positions that follow one another."""

import numpy as np

from ordinate.errors import non_negative_integer


def arange(tokens: int, offset: int = 0) -> np.ndarray:
    """Positions of `tokens` tokens that follow `offset` others.

    positions[t] = offset + t

    Args:
        tokens: how many, >= 0, [token]
        offset: how many tokens are before them, in a cache say, >= 0, [token]

    Returns:
        [tokens], int64, [token]

    Raises:
        InputError: a number that is not an integer >= 0

    >>> arange(3, offset=2)
    array([2, 3, 4])
    """
    first = non_negative_integer("offset", offset)
    return np.arange(first, first + non_negative_integer("tokens", tokens), dtype=np.int64)
