"""How a cost grows with the length: a + b N + c N², none of them negative."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ordinate.errors import InputError, got, positive, positive_integer

REACH = 2.0
"""A fit speaks of lengths up to so many times the longest that was measured, and down to the shortest over it."""


@dataclass(frozen=True)
class Fit:
    """A cost against the length.

    Args:
        constant, linear, quadratic: a, b and c, of the cost's unit over 1, token and token²
        intervals: of the three, low and high
        drawn: the three of each bootstrap draw, [draws, 3]
        shortest, longest: that were measured, [token]
        level: how often such intervals hold the true value
    """

    constant: float
    linear: float
    quadratic: float
    intervals: tuple[tuple[float, float], tuple[float, float], tuple[float, float]]
    drawn: np.ndarray
    shortest: int
    longest: int
    level: float

    def at(self, length: float) -> tuple[float, float, float]:
        """The cost at a length, with its interval.

        Args:
            length: [token]

        Returns:
            cost, low, high

        Raises:
            InputError: more than twice as long as the longest that was measured, or less than half as long as the
                shortest
        """
        length = positive("length", length)
        if not self.shortest / REACH <= length <= self.longest * REACH:
            raise InputError(
                f"length must be within a factor {REACH:g} of what was measured, {self.shortest} to {self.longest} "
                f"tokens, got {got(length)}"
            )
        powers = np.array([1.0, length, length * length])
        low, high = np.quantile(self.drawn @ powers, _tails(self.level))
        return float(powers @ (self.constant, self.linear, self.quadratic)), float(low), float(high)

    def share(self, term: int) -> float:
        """What part of the cost at the longest length one of the three terms is."""
        parts = np.array([self.constant, self.linear * self.longest, self.quadratic * self.longest**2])
        return float(parts[term] / parts.sum()) if parts.sum() else 0.0


def fit(
    lengths: Sequence[float],
    costs: Sequence[float],
    *,
    level: float = 0.95,
    draws: int = 999,
    seed: int = 0,
) -> Fit:
    """Fit a + b N + c N² with a, b, c >= 0 by least squares of relative residuals.

    minimise Σ ((a + b N + c N² - cost) / m(N))², m(N) the median cost at N: costs of long texts vary more

    Intervals are percentiles over draws that take, at each length, as many of its costs as there are, with
    replacement.

    Args:
        lengths: of each measurement, at least three different ones, [token]
        costs: positive, of any unit
        level: of the intervals, in (0, 1)
        draws: of the bootstrap
        seed: of the draws

    Raises:
        InputError: fewer than three lengths, or a cost that is not positive

    >>> found = fit([100, 200, 400], [1.1, 1.2, 1.4])
    >>> round(found.constant, 6), round(found.linear, 6), round(found.quadratic, 6)
    (1.0, 0.001, 0.0)
    """
    x, y = np.asarray(lengths, dtype=np.float64), np.asarray(costs, dtype=np.float64)
    draws = positive_integer("draws", draws)
    if x.ndim != 1 or x.shape != y.shape or not (np.isfinite(y).all() and (y > 0).all() and (x > 0).all()):
        raise InputError(f"costs must be positive numbers, one for each length, got {got(list(costs))}")
    if not 0 < level < 1:
        raise InputError(f"level must be in (0, 1), got {level}")
    different = np.unique(x)
    if len(different) < 3:
        raise InputError(f"a fit of three terms needs at least three different lengths, got {len(different)}")
    places = [np.flatnonzero(x == length) for length in different]
    weights = np.empty_like(y)
    for place in places:
        weights[place] = 1 / np.median(y[place])
    # Columns of like size, so that the smallest term is as exact as the largest.
    scale = np.array([1.0, different[-1], different[-1] ** 2])
    design = np.stack([np.ones_like(x), x, x * x], 1) / scale
    found = non_negative(design * weights[:, None], y * weights) / scale
    generator = np.random.default_rng(seed)
    drawn = np.empty((draws, 3))
    for draw in range(draws):
        index = np.concatenate([place[generator.integers(0, len(place), len(place))] for place in places])
        drawn[draw] = non_negative(design[index] * weights[index, None], y[index] * weights[index]) / scale
    bounds = np.quantile(drawn, _tails(level), axis=0)
    intervals = tuple((float(low), float(high)) for low, high in bounds.T)
    a, b, c = (float(value) for value in found)
    return Fit(a, b, c, intervals, drawn, int(different[0]), int(different[-1]), level)  # type: ignore[arg-type]


def non_negative(design: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The non-negative least squares solution, by trying every set of terms that may be above 0.

    min |design x - values|, x >= 0

    Args:
        design: [measurements, terms], few terms
        values: [measurements]

    Returns:
        [terms]

    Source: with few terms this is exhaustive; Lawson and Hanson 1974, chapter 23, search the same sets.
    Differs from the book: all sets are solved.
    """
    terms = design.shape[1]
    best, found = float(values @ values), np.zeros(terms)
    for count in range(1, terms + 1):
        for chosen in combinations(range(terms), count):
            part = design[:, chosen]
            solved, *_ = np.linalg.lstsq(part, values, rcond=None)
            if (solved < 0).any():
                continue
            off = part @ solved - values
            if float(off @ off) < best * (1 - 1e-12):
                best, found = float(off @ off), np.zeros(terms)
                found[list(chosen)] = solved
    return found


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2
