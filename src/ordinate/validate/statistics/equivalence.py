"""Whether two scores of the same instances are equal within a margin: "no difference found" is not enough."""

import math
from dataclasses import dataclass
from statistics import NormalDist

from ordinate.errors import InputError, finite, positive_integer
from ordinate.validate.statistics.retention import Pairs


@dataclass(frozen=True)
class Equivalence:
    """Two scores of the same instances.

    Args:
        equivalent: whether both one-sided tests reject a difference as large as the margin
        difference: second less first, [1]
        low, high: the interval of the difference that lies within the margin where `equivalent`
        margin: what was asked
    """

    equivalent: bool
    difference: float
    low: float
    high: float
    margin: float


def equivalent(pairs: Pairs, *, margin: float, level: float = 0.95) -> Equivalence:
    """Two one-sided tests of a paired difference of shares.

    equivalent where the interval of (long - short) with both tails 1 - level lies inside (-margin, margin)

    The interval is the score interval of a paired difference: the differences that a score test does not reject.

    Args:
        pairs: the same instances before and after, or in two places
        margin: the largest difference that counts as none, in (0, 1), [1]
        level: of each one-sided test

    Raises:
        InputError: no pairs, or a margin or level outside (0, 1)

    Source: Schuirmann 1987 (two one-sided tests); Tango 1998, Statistics in Medicine 17, 891-908 (the interval).
    Differs from the papers: nothing.

    >>> equivalent(Pairs(both=300, lost=2, gained=1, neither=97), margin=0.05).equivalent
    True
    """
    for name, value in (("margin", margin), ("level", level)):
        if not 0 < finite(name, value) < 1:
            raise InputError(f"{name} must be in (0, 1), got {value}")
    n = pairs.instances
    if not n:
        raise InputError("equivalence needs at least one pair, got none")
    z = NormalDist().inv_cdf(level)
    difference = (pairs.gained - pairs.lost) / n
    low = _bound(pairs.gained, pairs.lost, n, z, -1)
    high = _bound(pairs.gained, pairs.lost, n, z, 1)
    return Equivalence(-margin < low and high < margin, difference, low, high, margin)


def instances_needed(*, margin: float, discordant: float, power: float = 0.8, level: float = 0.95) -> int:
    """How many pairs an equivalence test needs, to be said before a run.

    n = discordant * ((z(level) + z((1 + power) / 2)) / margin)^2, where the true difference is 0

    Args:
        margin: as for `equivalent`
        discordant: the share of instances that are right on one side only, in (0, 1]
        power: how often equivalence is to be found where the true difference is 0
        level: of each one-sided test

    Source: Chow, Shao and Wang 2008, Sample Size Calculations in Clinical Research, section 4.3.
    Differs from the source: paired shares, whose variance is the discordant share.

    >>> instances_needed(margin=0.05, discordant=0.1)
    343
    """
    for name, value in (("margin", margin), ("power", power), ("level", level)):
        if not 0 < finite(name, value) < 1:
            raise InputError(f"{name} must be in (0, 1), got {value}")
    if not 0 < finite("discordant", discordant) <= 1:
        raise InputError(f"discordant must be in (0, 1], got {discordant}")
    normal = NormalDist()
    both = normal.inv_cdf(level) + normal.inv_cdf((1 + power) / 2)
    return positive_integer("instances", math.ceil(discordant * (both / margin) ** 2))


def _bound(gained: int, lost: int, n: int, z: float, side: int) -> float:
    """The furthest difference on one side that the score test does not reject, by bisection."""
    inside, outside = (gained - lost) / n, float(side)
    if inside == outside:
        return inside
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if abs(_score(gained, lost, n, middle)) <= z else (inside, middle)
    return inside


def _score(gained: int, lost: int, n: int, difference: float) -> float:
    """Tango's score of a difference: with the likeliest share lost where gained - lost is that difference."""
    a, b = 2.0 * n, -gained - lost + (2 * n - gained + lost) * difference
    c = -lost * difference * (1 - difference)
    share = (math.sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a)
    variance = n * (2 * share + difference * (1 - difference))
    apart = gained - lost - n * difference
    return 0.0 if apart == 0 else apart / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, apart)
