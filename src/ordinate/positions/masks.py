"""Positions of a padded batch, from its attention mask."""

from typing import Any

import numpy as np

from ordinate.errors import InputError, got, positive_integer
from ordinate.positions.arrays import integers


def from_mask(mask: Any, masked: int = 0) -> np.ndarray:
    """Positions that count real tokens only, wherever the padding is: left, right or between.

    positions[b, t] = sum(mask[b, :t]) where mask[b, t] is 1, else `masked`

    Args:
        mask: [batch, tokens] or [tokens], bool or integer, 1 for a real token and 0 for padding
        masked: what padding gets, [token]. The default, 0, is a row of every table, so that gathering is safe;
            attention must ignore it. Give -1 to see it, but NumPy and PyTorch take -1 for a table's last row

    Returns:
        the shape of `mask`, int64, [token]

    Raises:
        InputError: a mask with other values. Ids of packed documents (1, 1, 2, 2) go to `from_segments`;
            additive masks (0 and -inf) are not masks of this kind

    >>> from_mask([[0, 0, 1, 1], [1, 0, 1, 1]])
    array([[0, 0, 0, 1],
           [0, 0, 1, 2]])
    """
    real = _real(mask)
    return np.where(real, np.cumsum(real, -1, dtype=np.int64) - 1, np.int64(masked))


def after_mask(mask: Any, tokens: int = 1) -> np.ndarray:
    """Positions of the tokens that come next in each row, as in a step of decoding.

    positions[b, t] = sum(mask[b]) + t

    Args:
        mask: [batch, tokens seen] or [tokens seen], bool or integer, 1 for a real token and 0 for padding
        tokens: how many come next, [token]

    Returns:
        [batch, tokens] or [tokens], int64, [token]

    Raises:
        InputError: a mask with other values, or `tokens` < 1

    >>> after_mask([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    array([[3],
           [5]])
    """
    seen = _real(mask).sum(-1, keepdims=True, dtype=np.int64)
    return seen + np.arange(positive_integer("tokens", tokens), dtype=np.int64)


def _real(mask: Any) -> np.ndarray:
    array = np.asarray(mask)
    array = integers("mask", array.astype(np.int64) if array.dtype.kind == "b" else array, axes=(1, 2))
    wrong = array[(array != 0) & (array != 1)]
    if wrong.size:
        raise InputError(
            f"mask must hold 1 for a real token and 0 for padding, got {got(int(wrong[0]))}; "
            "ids of packed documents go to from_segments"
        )
    return array == 1
