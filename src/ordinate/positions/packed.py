"""Positions of several documents in one row: each starts again from 0."""

from typing import Any

import numpy as np

from ordinate.errors import InputError
from ordinate.positions.arrays import integers


def segments(lengths: Any) -> np.ndarray:
    """The number of the document that each token belongs to.

    Args:
        lengths: [documents], integer >= 0, [token]

    Returns:
        [tokens], int64, from 0

    Raises:
        InputError: a negative length, or not a list of integers

    >>> segments([3, 2])
    array([0, 0, 0, 1, 1])
    """
    counts = integers("lengths", lengths, axes=(1,))
    if (counts < 0).any():
        raise InputError(f"lengths must be >= 0, got {counts.min()}")
    return np.repeat(np.arange(len(counts), dtype=np.int64), counts)


def from_lengths(lengths: Any) -> np.ndarray:
    """Positions of documents laid end to end.

    Args:
        lengths: [documents], integer >= 0, [token]

    Returns:
        [tokens], int64, [token]

    Raises:
        InputError: a negative length, or not a list of integers

    >>> from_lengths([3, 2])
    array([0, 1, 2, 0, 1])
    """
    document = segments(lengths)
    counts = np.asarray(lengths, dtype=np.int64)
    return np.arange(len(document), dtype=np.int64) - (np.cumsum(counts) - counts)[document]


def from_cu_seqlens(cu_seqlens: Any) -> np.ndarray:
    """Positions of documents given by cumulated lengths, as variable-length attention kernels take them.

    Args:
        cu_seqlens: [documents + 1], integer, from 0 and never falling, [token]

    Returns:
        [cu_seqlens[-1]], int64, [token]

    Raises:
        InputError: it does not start at 0, or falls

    >>> from_cu_seqlens([0, 3, 5])
    array([0, 1, 2, 0, 1])
    """
    ends = integers("cu_seqlens", cu_seqlens, axes=(1,))
    if len(ends) == 0 or ends[0] != 0:
        raise InputError(f"cu_seqlens must start at 0, got {ends[:1].tolist()}")
    lengths = np.diff(ends)
    if (lengths < 0).any():
        fall = int(np.argmax(lengths < 0))
        raise InputError(f"cu_seqlens must never fall, got {ends[fall]} then {ends[fall + 1]}")
    return from_lengths(lengths)


def from_segments(ids: Any, *, padding: int | None = None, masked: int = 0) -> np.ndarray:
    """Positions of documents given by an id a token, as masks of packed batches are: 1, 1, 2, 2, 2, 0.

    positions[b, t] = how many tokens before t in row b have the id of t

    Args:
        ids: [batch, tokens] or [tokens], integer; equal ids are one document, in any order
        padding: the id that means padding, 0 in most masks; None where every token is real
        masked: what padding gets, as in `from_mask`, [token]

    Returns:
        the shape of `ids`, int64, [token]

    Raises:
        InputError: not integers, or of another shape

    >>> from_segments([1, 1, 2, 2, 2, 0], padding=0)
    array([0, 1, 0, 1, 2, 0])
    """
    array = integers("ids", ids, axes=(1, 2))
    order = np.argsort(array, axis=-1, kind="stable")
    grouped = np.take_along_axis(array, order, -1)
    index = np.broadcast_to(np.arange(array.shape[-1], dtype=np.int64), array.shape)
    starts = np.ones(array.shape, dtype=bool)
    starts[..., 1:] = grouped[..., 1:] != grouped[..., :-1]
    since = index - np.maximum.accumulate(np.where(starts, index, 0), -1)
    positions = np.empty_like(array)
    np.put_along_axis(positions, order, since, -1)
    return positions if padding is None else np.where(array == padding, np.int64(masked), positions)
