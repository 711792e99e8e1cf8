"""One body of a formula, two array libraries: what has to be said differently to each."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def working(xp: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays in one dtype: float64 in NumPy; in torch the widest of theirs, and float32 at least.

    Half precision cannot tell position 2049 from 2048, so no formula runs in it.
    """
    if xp is np:
        return {name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
    dtype = xp.float32
    for array in arrays.values():
        dtype = xp.promote_types(dtype, array.dtype)
    return {name: array.to(dtype) for name, array in arrays.items()}


def constant(values: np.ndarray, like: Any, xp: Any) -> Any:
    """Numbers that are not learned, beside those that are: in the library, dtype and place of `like`."""
    if xp is np:
        return np.asarray(values, dtype=like.dtype)
    return xp.asarray(values, dtype=like.dtype, device=like.device)


def distinct(distance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All distances that occur, [n], and where each entry finds its own among them, int64 like `distance`."""
    if distance.size == 0:
        return distance.reshape(-1), distance
    low, high = int(distance.min()), int(distance.max())
    if high - low < distance.size:  # neighbouring tokens: no need to sort
        return np.arange(low, high + 1), distance - low
    values, index = np.unique(distance, return_inverse=True)
    return values, index.reshape(distance.shape)


def along_last(values: Any, index: Any, xp: Any) -> Any:
    """`values[..., index]` entry by entry: both have the same axes but for the length of the last."""
    if xp is np:
        return np.take_along_axis(values, index.astype(np.int64), -1)
    return xp.take_along_dim(values, index.long(), -1)
