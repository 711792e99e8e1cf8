"""The one check that every array of integers passes on its way in."""

from typing import Any

import numpy as np

from ordinate.errors import InputError


def integers(name: str, values: Any, axes: tuple[int, ...]) -> np.ndarray:
    """Return `values` as int64, or raise `InputError` unless they are integers with one of these axis counts."""
    array = np.asarray(values)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} must hold integers, got dtype {array.dtype}")
    if array.ndim not in axes:
        wanted = " or ".join(str(n) for n in axes)
        raise InputError(f"{name} must have {wanted} axes, got shape {list(array.shape)}")
    return array.astype(np.int64)
