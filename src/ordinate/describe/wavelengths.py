"""How far each pair of a rotating group gets: wavelengths, and turns within a window."""

import math

import numpy as np

from ordinate.spec import LayerGroup


def wavelengths(group: LayerGroup, length: int | None = None) -> np.ndarray:
    """The tokens in which each pair turns once: 2 pi / frequency.

    Args:
        group: layers that rotate
        length: tokens seen so far, for scaling that depends on it, [token]

    Returns:
        [pairs], float64, [token]; infinite where a pair does not turn

    Raises:
        InputError: nothing rotates in this group
    """
    return 2 * math.pi * inverse(np.abs(group.frequencies(length)))


def inverse(values: np.ndarray) -> np.ndarray:
    """1 / values, infinite where a value is 0 or too small to have a finite inverse."""
    return np.divide(1, values, out=np.full(values.shape, np.inf), where=values > 1e-300)


def reaches(slopes: np.ndarray) -> np.ndarray:
    """The distance at which each head of ALiBi has lost one logit: 1 / slope, [heads], [token]."""
    return inverse(np.asarray(slopes, dtype=np.float64))


def turns(group: LayerGroup, window: int, length: int | None = None) -> np.ndarray:
    """How often each pair turns within a window: window * frequency / (2 pi).

    Args:
        group: layers that rotate
        window: [token]
        length: tokens seen so far, for scaling that depends on it, [token]

    Returns:
        [pairs], float64, [turn]
    """
    return window * np.abs(group.frequencies(length)) / (2 * math.pi)


def unfinished(group: LayerGroup, window: int, length: int | None = None) -> int:
    """How many of the pairs that turn do not finish a turn within a window, and so meet new angles past it.

    >>> from ordinate.schemes.rope import Rope
    >>> unfinished(LayerGroup("full_attention", Rope(head_dim=128), pairing="half"), 2048)
    23
    """
    done = turns(group, window, length)
    return int(((done > 0) & (done < 1)).sum())
