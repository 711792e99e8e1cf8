"""Means with standard errors over blocks of neighbouring tokens, and Wilson's interval for counts."""

import math
from statistics import NormalDist

import numpy as np

from ordinate.errors import InputError, positive_integer
from ordinate.prove.result import Compared, Estimate

Array = np.ndarray


def estimate(losses: Array, places: Array, block: int) -> Estimate:
    """The mean loss of tokens, and its standard error when whole blocks of neighbours are the unit.

    sums[b], counts[b] = sum and number of the losses with places // block == b
    mean = sum(sums) / tokens
    standard_error = sqrt(blocks / (blocks - 1) * sum((sums - mean * counts) ** 2)) / tokens

    Neighbouring tokens are not independent: one hard word makes the next ones hard. Blocks longer than that reach
    are nearly so.

    Args:
        losses: [tokens], [nat]
        places: [tokens], integer: where each token stands, which decides its block
        block: tokens in a block

    Returns:
        the mean, its standard error (None where there is one block), and the number of tokens

    Raises:
        InputError: no tokens, or as many places as there are losses

    Source: Cochran 1977, Sampling Techniques, chapter 9A (the ratio estimate, from clusters of unequal sizes).
    Differs from the source: nothing.

    >>> estimate(np.array([1.0, 3.0, 3.0, 5.0]), np.arange(4), block=2)
    Estimate(mean=3.0, standard_error=1.0, tokens=4)
    """
    block = positive_integer("block", block)
    losses = np.asarray(losses, dtype=np.float64)
    if losses.ndim != 1 or not len(losses) or losses.shape != np.shape(places):
        raise InputError(
            f"losses and places must be two equally long lists, not empty, got {losses.shape} and {np.shape(places)}"
        )
    _, index = np.unique(np.asarray(places) // block, return_inverse=True)
    sums, counts = np.bincount(index, weights=losses), np.bincount(index)
    mean, blocks = float(losses.mean()), len(counts)
    if blocks == 1:
        return Estimate(mean, None, len(losses))
    spread = float(((sums - mean * counts) ** 2).sum())
    return Estimate(mean, math.sqrt(blocks / (blocks - 1) * spread) / len(losses), len(losses))


def compared(original: Array, extended: Array, places: Array, block: int) -> Compared:
    """Two models on the same tokens: each one's mean, and the mean of the token-by-token difference.

    The difference is paired, so that how hard a passage is, which both models feel alike, cancels from its error.

    Args:
        original: losses of the first model, [tokens], [nat]
        extended: losses of the second on the same tokens, [tokens], [nat]
        places, block: as in `estimate`
    """
    return Compared(
        estimate(original, places, block),
        estimate(extended, places, block),
        estimate(np.asarray(extended, dtype=np.float64) - original, places, block),
    )


def wilson(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for a share.

    centre = (share + z^2 / (2 n)) / (1 + z^2 / n)
    half = z sqrt(share (1 - share) / n + z^2 / (4 n^2)) / (1 + z^2 / n)

    Args:
        successes: how many of the trials succeeded
        trials: n
        level: how often such intervals hold the true share, in (0, 1)

    Returns:
        the lower and upper bound, in [0, 1]

    Raises:
        InputError: no trials, more successes than trials, or a level outside (0, 1)

    Source: Wilson 1927, Journal of the American Statistical Association 22, 209-212.
    Differs from the paper: nothing.

    >>> [round(bound, 3) for bound in wilson(0, 6)]
    [0.0, 0.39]
    """
    trials = positive_integer("trials", trials)
    if not 0 <= successes <= trials:
        raise InputError(f"successes must be between 0 and {trials} trials, got {successes}")
    if not 0 < level < 1:
        raise InputError(f"level must be in (0, 1), got {level}")
    z, share = NormalDist().inv_cdf(0.5 + level / 2), successes / trials
    scale = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / scale
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / scale
    # At 0 and at all of them the bound is 0 or 1; rounding would leave 1e-17 of it.
    return (0.0 if successes == 0 else centre - half), (1.0 if successes == trials else centre + half)
