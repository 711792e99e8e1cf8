"""Positions and distances as they come in: integers that float64 can hold, in the shape asked for."""

from typing import Any

import numpy as np

from ordinate.errors import MAXIMUM_POSITION, InputError, got


def whole_numbers(name: str, values: Any) -> np.ndarray:
    """Check that values are integers (an empty list is) of at most 2**53 either way and return them as int64.

    Raises:
        InputError: they are not
    """
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise InputError(f"{name} must be an array of integers, got {got(values)}") from None
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} must be integers, got dtype {array.dtype}")
    if array.size and not -MAXIMUM_POSITION <= array.min() <= array.max() <= MAXIMUM_POSITION:
        raise InputError(f"{name} must lie within 2**53 of 0, beyond which float64 skips integers, got {got(values)}")
    return array.astype(np.int64)


def integer_positions(name: str, positions: Any, axes: int | None = None) -> np.ndarray:
    """Check positions and return them as int64: [tokens], or [axes, tokens] where `axes` is given.

    Raises:
        InputError: not integers, or not of that shape
    """
    array = whole_numbers(name, positions)
    shape = "[tokens]" if axes is None else f"[{axes}, tokens]"
    if array.ndim != (1 if axes is None else 2) or (axes is not None and array.shape[0] != axes):
        raise InputError(f"{name} must have shape {shape}, got {got(list(array.shape))}")
    return array


def distances(query_positions: Any, key_positions: Any) -> np.ndarray:
    """Query minus key position: [query, key], int64, [token]; positive where the key is in the past."""
    query = integer_positions("query_positions", query_positions)
    key = integer_positions("key_positions", key_positions)
    return query[:, None] - key[None, :]
