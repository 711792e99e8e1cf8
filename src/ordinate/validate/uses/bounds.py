"""Means of nats with their intervals and one-sided bounds, honest for a few clusters too."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ordinate.validate.statistics.bootstrap import cluster_interval


@dataclass(frozen=True)
class Bounds:
    """A mean, [nat].

    Args:
        mean: of all values
        low, high: two-sided interval at 95 %
        least, most: one-sided bounds, each at its own error rate
        clusters: how many the interval was drawn over
    """

    mean: float
    low: float
    high: float
    least: float
    most: float
    clusters: int


def bounds(
    values: Sequence[float] | np.ndarray, clusters: Sequence[object], *, below: float = 0.05, above: float = 0.05
) -> Bounds | None:
    """A mean with its bounds by the cluster bootstrap.

    level = 1 - 2 Phi(sqrt(n / (n - 1)) t(tail; n - 1)), n the number of clusters

    A bootstrap of few clusters is too narrow: its variance lacks n / (n - 1), and its quantiles are the normal
    distribution's instead of Student's. Asking it for a higher level mends both.

    Args:
        values: [instances], [nat]
        clusters: [instances], what they share
        below, above: error rates of `least` and `most`

    Returns:
        None where there are fewer than two clusters

    Source: Hesterberg 2015, The American Statistician 69, 371-386, section 4 (the expanded percentile interval).
    Differs from the paper: the expanded level is asked of the BCa interval.
    """
    count = len(set(clusters))
    if count < 2:
        return None

    def interval(tail: float) -> tuple[float, float, float]:
        return cluster_interval(np.asarray(values), list(clusters), level=_expanded(tail, count))

    mean, low, high = interval(0.025)
    return Bounds(mean, low, high, interval(below)[1], interval(above)[2], count)


def _expanded(tail: float, count: int) -> float:
    quantile = student(1 - tail, count - 1) * math.sqrt(count / (count - 1))
    # Beyond this no draw reaches: the bound is the extreme one.
    return min(2 * NormalDist().cdf(quantile) - 1, 1 - 1e-9)


def student(share: float, freedom: int) -> float:
    """The quantile of Student's t.

    Args:
        share: in (0.5, 1)
        freedom: degrees of freedom, >= 1

    Source: Abramowitz and Stegun 1972, 26.7.5; for 1 and 2 degrees of freedom the closed forms.
    Differs from the source: nothing.

    >>> round(student(0.95, 23), 3), round(student(0.975, 5), 2)
    (1.714, 2.57)
    """
    if freedom == 1:
        return math.tan(math.pi * (share - 0.5))
    if freedom == 2:
        return (2 * share - 1) * math.sqrt(2 / (1 - (2 * share - 1) ** 2))
    z, n = NormalDist().inv_cdf(share), freedom
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4)
    )
