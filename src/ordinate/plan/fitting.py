"""The largest number that fits: doubling, then bisection."""

from collections.abc import Callable

MOST = 2**40
"""What still fits here is without bound."""


def largest(fits: Callable[[int], bool], most: int = MOST) -> tuple[int | None, bool]:
    """The largest number from 1 on that fits, where what fits is everything up to it.

    Args:
        fits: whether a number does
        most: not looked beyond

    Returns:
        the number, None where 1 does not fit, and whether even `most` does

    >>> largest(lambda number: number <= 1000)
    (1000, False)
    """
    if not fits(1):
        return None, False
    if fits(most):
        return most, True
    low, high = 1, 2
    while high < most and fits(high):
        low, high = high, 2 * high
    high = min(high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low, False
