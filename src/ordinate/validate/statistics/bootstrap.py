"""Intervals for means of anything, when instances come in clusters."""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from ordinate.errors import InputError, positive_integer


def cluster_interval(
    values: np.ndarray,
    clusters: Sequence[object] | np.ndarray,
    *,
    level: float = 0.95,
    draws: int = 4999,
    seed: int = 0,
) -> tuple[float, float, float]:
    """A mean and its interval by drawing whole clusters again.

    draw: as many clusters as there are, with replacement; the mean of all values in them
    interval: BCa, the percentiles corrected for bias and for skewness by leaving each cluster out

    Args:
        values: [instances], finite, of any unit
        clusters: [instances]: what they share: a book, a set of entities
        level: how often such intervals hold the true mean, in (0, 1)
        draws: how many
        seed: of the draw

    Returns:
        mean, low, high, of the unit of `values`

    Raises:
        InputError: values that are not finite, another number of clusters, or fewer than two of them

    Source: Efron 1987, Journal of the American Statistical Association 82, 171-185; clusters: Field and Welsh 2007.
    Differs from the papers: nothing.
    """
    values = np.asarray(values, dtype=np.float64)
    draws = positive_integer("draws", draws)
    if not 0 < level < 1:
        raise InputError(f"level must be in (0, 1), got {level}")
    if values.ndim != 1 or len(clusters) != len(values) or not np.isfinite(values).all():
        raise InputError(f"values must be finite and as many as clusters, got {values.shape} and {len(clusters)}")
    _, index = np.unique(np.asarray(clusters), return_inverse=True)
    sums, counts = np.bincount(index, weights=values), np.bincount(index)
    groups = len(counts)
    if groups < 2:
        raise InputError(f"an interval needs at least two clusters, got {groups}")
    mean = float(sums.sum() / counts.sum())
    drawn = np.random.default_rng(seed).integers(0, groups, (draws, groups))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    without = (sums.sum() - sums) / (counts.sum() - counts)
    apart = without.mean() - without
    spread = float((apart**2).sum())
    if spread == 0:
        return mean, mean, mean
    normal = NormalDist()
    below = float((means < mean).mean() + (means == mean).mean() / 2)
    bias = normal.inv_cdf(min(max(below, 0.5 / draws), 1 - 0.5 / draws))
    skew = float((apart**3).sum()) / (6 * spread**1.5)
    bounds = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        z = bias + normal.inv_cdf(tail)
        bounds.append(normal.cdf(bias + z / (1 - skew * z)))
    low, high = np.quantile(means, bounds)
    return mean, float(low), float(high)
