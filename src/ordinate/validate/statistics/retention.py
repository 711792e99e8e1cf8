"""Whether a reader keeps its short-context accuracy at a longer length: a paired score test with looks."""

import math
from dataclasses import dataclass

import numpy as np

from ordinate.errors import InputError, finite, positive_integer
from ordinate.validate.statistics.verdicts import Verdict

LOOKS = (24, 50, 100)
"""At how many instances the evidence may be looked at; a run may stop at any look that decides."""

# Boundaries of the score at each look. Over the three looks the chance of a false "supported" stays below 0.05, and
# so does that of a false "refuted", for every short score that passes the floor, every dependence between a pair's
# answers, and chance levels from 0 to 1/2: the worst found are 0.047 and 0.043. `tools/retention_boundaries.py`
# searches for them.
_SUPPORTED = dict(zip(LOOKS, (2.4, 2.0, 1.95), strict=True))
_REFUTED = dict(zip(LOOKS, (2.4, 2.2, 2.1), strict=True))

# What the boundaries are multiplied by where a run ends at an earlier look, by that look, and those of "refuted" so
# that its chance stays below 0.05 over the number of places; the same search finds them.
_SUPPORTED_LAST = dict(zip(LOOKS, (0.76, 0.92, 1.0), strict=True))
_REFUTED_LAST = dict(zip(LOOKS, (0.8, 0.92, 1.0), strict=True))
_PLACES = {1: 1.0, 2: 1.17, 3: 1.25, 4: 1.3, 5: 1.32}

RETAINED = 0.85
"""The share of the short score, above chance, that a length must keep to be supported."""

_STEPS = 80


@dataclass(frozen=True)
class Pairs:
    """The same instances at a short and at a long length.

    Args:
        both: right at both
        lost: right at the short length only
        gained: right at the long length only
        neither: wrong at both
    """

    both: int
    lost: int
    gained: int
    neither: int

    def __post_init__(self) -> None:
        for name in ("both", "lost", "gained", "neither"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
                raise InputError(f"{name} must be an integer >= 0, got {value!r}")

    @property
    def instances(self) -> int:
        return self.both + self.lost + self.gained + self.neither

    @property
    def short(self) -> float:
        """The share right at the short length."""
        return (self.both + self.lost) / self.instances

    @property
    def long(self) -> float:
        """The share right at the long length."""
        return (self.both + self.gained) / self.instances


@dataclass(frozen=True)
class Retention:
    """What is known at one look.

    Args:
        verdict: "supported", "refuted" or "inconclusive"
        share: (long - chance) / (short - chance); None where the short score is not above chance
        score: how many of its standard errors the difference is above what `retained` asks
        supported_at, refuted_at: the boundaries of the score at this look
        instances: pairs so far
    """

    verdict: Verdict
    share: float | None
    score: float
    supported_at: float
    refuted_at: float
    instances: int


def retention(
    pairs: Pairs, *, chance: float = 0.0, retained: float = RETAINED, places: int = 1, last: int = LOOKS[-1]
) -> Retention:
    """Decide at one of the looks whether the long length keeps its share of the short score.

    d = right at long - retained * right at short - (1 - retained) * chance
    supported where score(d) >= boundary of the look, refuted where score(d) <= -boundary of the look

    Args:
        pairs: all instances so far, as many as one of `LOOKS`
        chance: what a reader scores that uses no evidence, [1]
        retained: the share asked for, in (0, 1]
        places: of how many such tests one refutation is enough to refute the whole: each of them is made at 5 % over
            their number, while all of them must be supported, which needs no correction
        last: the last look that is planned; nothing of the error rate is kept for looks behind it

    Raises:
        InputError: another number of instances, a look behind the last one, more than 5 places, or a chance or share
            outside its range

    Source: the score test of a multinomial under a linear constraint, after Nam and Blackwelder 2002, Statistics in
    Medicine 21, 689-699 (ratio of paired proportions); looks: Lan and DeMets 1983, Biometrika 70, 659-663.
    Differs from the papers: chance is taken off both scores; boundaries are found by exact probabilities over what is
    not known instead of by the normal distribution, which lets 6 to 8 % of false claims pass.

    >>> retention(Pairs(both=47, lost=0, gained=0, neither=3)).verdict
    'supported'
    """
    if pairs.instances not in LOOKS:
        raise InputError(f"evidence is looked at after {', '.join(map(str, LOOKS))} instances, got {pairs.instances}")
    value = score(pairs, chance=chance, retained=retained)
    if positive_integer("places", places) not in _PLACES:
        raise InputError(f"places must be at most {max(_PLACES)}, got {places}")
    if last not in LOOKS or last < pairs.instances:
        raise InputError(f"the last look must be one of {LOOKS} and not before {pairs.instances}, got {last}")
    above = _SUPPORTED[pairs.instances] * _SUPPORTED_LAST[last]
    below = _REFUTED[pairs.instances] * _REFUTED_LAST[last] * _PLACES[places]
    verdict: Verdict = "supported" if value >= above else "refuted" if value <= -below else "inconclusive"
    short = pairs.short - chance
    share = (pairs.long - chance) / short if short > 0 else None
    return Retention(verdict, share, value, above, -below, pairs.instances)


def score(pairs: Pairs, *, chance: float = 0.0, retained: float = RETAINED) -> float:
    """The paired score: the mean of d over its standard error where its true mean is 0.

    score = mean(d) / sqrt(sum over cells of p * d^2 / n), p the likeliest cell probabilities with sum of p * d = 0

    By Lagrange p = count / (n (1 + m d)); where a side has no counts, its cell may still have probability, which is
    what keeps a run of nothing but right answers from being infinitely sure.

    Args:
        pairs, chance, retained: as for `retention`; any number of instances

    Returns:
        0 where nothing speaks either way

    >>> round(score(Pairs(both=24, lost=0, gained=0, neither=0)), 3)
    2.058
    """
    if not pairs.instances:
        raise InputError("a score needs at least one pair, got none")
    if not 0 <= finite("chance", chance) < 1:
        raise InputError(f"chance must be in [0, 1), got {chance}")
    if not 0 < finite("retained", retained) <= 1:
        raise InputError(f"retained must be in (0, 1], got {retained}")
    counts = np.array([pairs.both, pairs.lost, pairs.gained, pairs.neither], dtype=np.float64)
    offset = (1 - retained) * chance
    d = np.array([1 - retained, -retained, 1.0, 0.0]) - offset
    mean = float(counts @ d) / pairs.instances
    if mean == 0:
        return 0.0
    return mean / math.sqrt(float(_likeliest(counts, d) @ d**2) / pairs.instances)


def _likeliest(counts: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The cell probabilities that make the counts likeliest among those with sum of p * d = 0."""
    share = counts / counts.sum()
    # 1 + m d must not fall below 0 in any cell: the multiplier lies between the poles of the extreme cells.
    low, high = -1 / d.max(), -1 / d.min()
    for _ in range(_STEPS):
        middle = (low + high) / 2
        slope = sum(n * x / (1 + middle * x) for n, x in zip(share, d, strict=True) if n)
        low, high = (middle, high) if slope > 0 else (low, middle)
    multiplier = (low + high) / 2
    p = np.divide(share, 1 + multiplier * d, out=np.zeros(4), where=share > 0)
    # At a pole the extreme cell has no counts, and what the others leave is its own.
    extreme = int(d.argmin() if multiplier > 0 else d.argmax())
    if not counts[extreme]:
        p[extreme] = max(0.0, 1 - p.sum())
    return p
