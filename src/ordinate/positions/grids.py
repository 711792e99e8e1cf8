"""Positions of the patches of an image or a video: one coordinate an axis."""

import numpy as np

from ordinate.errors import InputError, positive_integer


def grid(*sizes: int, merge: int = 1) -> np.ndarray:
    """Coordinates of every patch, row by row.

    Args:
        sizes: height, width; or time, height, width; [patch]
        merge: patches are listed in squares of merge x merge along the last two axes, as Qwen2-VL lists those
            that it will merge into one token; 1 lists whole rows

    Returns:
        [axes, patches], int64, the axes in the order of `sizes`, [patch]

    Raises:
        InputError: not two or three sizes >= 1, or a height or width that `merge` does not divide

    >>> grid(2, 3)
    array([[0, 0, 0, 1, 1, 1],
           [0, 1, 2, 0, 1, 2]])
    """
    if len(sizes) not in (2, 3):
        raise InputError(f"a grid has 2 or 3 axes (height, width or time, height, width), got {len(sizes)}")
    names = ("time", "height", "width")[-len(sizes) :]
    lengths = [positive_integer(name, size) for name, size in zip(names, sizes, strict=True)]
    square = positive_integer("merge", merge)
    for name, length in zip(names[-2:], lengths[-2:], strict=True):
        if length % square:
            raise InputError(f"{name} must be a multiple of merge {square}, got {length}")
    height, width = lengths[-2:]
    axes = len(lengths)
    coordinates = np.indices(lengths, dtype=np.int64)
    squares = coordinates.reshape(axes, -1, height // square, square, width // square, square)
    return squares.swapaxes(-3, -2).reshape(axes, -1)
