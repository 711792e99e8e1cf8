"""Whether it matters where the evidence stands."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ordinate.errors import InputError, positive_integer
from ordinate.validate.statistics.equivalence import equivalent
from ordinate.validate.statistics.retention import Pairs

MARGIN = 0.05
"""Places whose scores are proved closer than this count as equal."""

LEVEL = 0.05
"""The chance of calling a reader unstable that is not."""


@dataclass(frozen=True)
class Stability:
    """The same instances with their evidence in different places.

    Args:
        verdict: "unstable" where the gap is more than chance, "stable" where every two places are equivalent, else
            "inconclusive"
        shares: right in each place
        gap: best less worst place, [1]
        chance: how often a reader to whom the place is nothing shows such a gap: the test's p-value
        consistent: the share of instances with the same answer in every place
        flips: the share of instances that are right in one place and wrong in another
    """

    verdict: str
    shares: tuple[float, ...]
    gap: float
    chance: float
    consistent: float
    flips: float


def stability(
    right: np.ndarray, answers: np.ndarray, *, margin: float = MARGIN, permutations: int = 9999, seed: int = 0
) -> Stability:
    """Compare places by permuting them within each instance.

    gap = max over places of mean(right) - min over places of mean(right)
    chance = (1 + number of permutations with a gap as large) / (1 + permutations)

    Permuting within an instance keeps how hard it is; the largest gap of all places is one statistic, so that no
    correction for their number is needed.

    Args:
        right: [instances, places], bool
        answers: [instances, places], whatever was answered, compared by equality
        margin: for "stable", [1]
        permutations: how many are drawn
        seed: of the draw

    Raises:
        InputError: no instances, fewer than two places, or answers of another shape

    Source: Phipson and Smyth 2010, Statistical Applications in Genetics and Molecular Biology 9 (the p-value).
    Differs from the paper: nothing.

    >>> everywhere = np.ones((40, 3), dtype=bool)
    >>> stability(everywhere, everywhere).gap
    0.0
    """
    right, answers = np.asarray(right, dtype=bool), np.asarray(answers)
    permutations = positive_integer("permutations", permutations)
    if right.ndim != 2 or right.shape[0] < 1 or right.shape[1] < 2 or answers.shape != right.shape:
        raise InputError(
            f"right and answers must be [instances, places] with two places at least, got {right.shape} and "
            f"{answers.shape}"
        )
    instances, places = right.shape
    shares = right.mean(axis=0)
    gap = float(shares.max() - shares.min())
    random, reached, counts = np.random.default_rng(seed), 0, right.sum(axis=1)
    for _ in range(permutations):
        # Only how many places are right in an instance matters: which ones is drawn anew.
        drawn = random.random((instances, places)).argsort(axis=1) < counts[:, None]
        total = drawn.sum(axis=0)
        reached += int(total.max() - total.min() >= gap * instances - 1e-9)
    chance = (1 + reached) / (1 + permutations)
    same = _all_equivalent(right, margin)
    verdict = "unstable" if chance <= LEVEL else "stable" if same else "inconclusive"
    consistent = float((answers == answers[:, :1]).all(axis=1).mean())
    flips = float((right.any(axis=1) & ~right.all(axis=1)).mean())
    return Stability(verdict, tuple(shares.tolist()), gap, chance, consistent, flips)


def _all_equivalent(right: np.ndarray, margin: float) -> bool:
    """Whether every two places are equivalent: each test must pass, so that their number needs no correction."""
    for a, b in combinations(range(right.shape[1]), 2):
        first, second = right[:, a], right[:, b]
        pairs = Pairs(
            int((first & second).sum()),
            int((first & ~second).sum()),
            int((~first & second).sum()),
            int((~first & ~second).sum()),
        )
        if not equivalent(pairs, margin=margin).equivalent:
            return False
    return True
