"""Positions of text with images and videos in it, for multimodal rotary encoding (M-RoPE)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ordinate.errors import InputError, at_least, got, non_negative_integer, one_of
from ordinate.positions.grids import grid

Segment = tuple[Any, ...]
"""("text", tokens), ("image", (time, height, width)) or ("video", (time, height, width), interval)."""


def multimodal(parts: Sequence[Segment]) -> tuple[np.ndarray, int]:
    """Positions with a time, a height and a width: equal in text, coordinates in an image or a video.

    Every part starts from one more than the largest position before it, on any axis.

    Args:
        parts: what the row is made of, in order: ("text", tokens), ("image", (time, height, width)) or
            ("video", (time, height, width), interval). Sizes are of the grid that the language model sees,
            after patches are merged. `interval` is how far apart frames are, 1 where not given
            (Qwen2.5-VL: tokens_per_second * seconds a frame); times are rounded down

    Returns:
        positions: [3, tokens], int64, [token]
        delta: what to add to the number of tokens seen to get the next position, on all axes, [token]

    Raises:
        InputError: an unknown part, or sizes that are not integers

    Source: Wang et al. 2024, arXiv:2409.12191, section 2.1 (Qwen2-VL).
    Differs from the paper: nothing. transformers 5.24 goes on from start + max(height, width), which repeats
    positions of a video that is longer than it is wide.

    >>> multimodal([("text", 2), ("image", (1, 2, 2)), ("text", 1)])
    (array([[0, 1, 2, 2, 2, 2, 4],
           [0, 1, 2, 2, 3, 3, 4],
           [0, 1, 2, 3, 2, 3, 4]]), -2)
    """
    pieces, start, tokens = [np.zeros((3, 0), dtype=np.int64)], 0, 0
    for number, part in enumerate(parts):
        piece = _piece(f"part {number}", part)
        if piece.shape[1]:
            pieces.append(start + piece)
            start += int(piece.max()) + 1
            tokens += piece.shape[1]
    return np.concatenate(pieces, -1), start - tokens


def _piece(name: str, part: Segment) -> np.ndarray:
    """The positions of one part, from 0: [3, tokens]."""
    if not isinstance(part, (tuple, list)) or len(part) < 2:
        raise InputError(f"{name} must be a pair such as ('text', 5), got {got(part)}")
    kind, size, *rest = part
    one_of(f"{name}: kind", kind, ("text", "image", "video"))
    if len(rest) > (kind == "video"):
        raise InputError(f"{name}: only a video has a third entry, its interval, and nothing follows; got {got(part)}")
    if kind == "text":
        return np.tile(np.arange(non_negative_integer(f"{name}: tokens", size), dtype=np.int64), (3, 1))
    if not isinstance(size, (tuple, list)) or len(size) != 3:
        raise InputError(f"{name}: {kind} must have a size (time, height, width), got {got(size)}")
    coordinates = grid(*size)
    interval = at_least(f"{name}: interval", rest[0], 0) if rest else 1.0
    coordinates[0] = np.floor(coordinates[0] * interval).astype(np.int64)
    return coordinates
