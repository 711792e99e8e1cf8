"""Whether a reader can do a task at all at the short length: nothing is said of longer ones before."""

from dataclasses import dataclass
from statistics import NormalDist

from ordinate.errors import InputError, finite
from ordinate.prove.statistics import wilson

MARGIN = 0.10
"""How far above chance the bound of the short score must lie."""

CEILING = 0.98
"""A short score above this tells little about small losses: the task wants more decoys."""

_ONE_SIDED = 2 * NormalDist().cdf(NormalDist().inv_cdf(0.95)) - 1


@dataclass(frozen=True)
class Floor:
    """The short baseline of a task.

    Args:
        above: whether the task can be measured
        at_ceiling: whether the score leaves no room above it
        share: right at the short length
        bound: one-sided 95 % lower bound of it
        needed: what the bound must exceed: chance + 0.10
    """

    above: bool
    at_ceiling: bool
    share: float
    bound: float
    needed: float


def floor(right: int, instances: int, *, chance: float) -> Floor:
    """Gate a task by its short baseline.

    above = wilson lower bound(right / instances, one-sided 95 %) > chance + 0.10

    Args:
        right: instances answered rightly at the short length, failures and refusals being wrong
        instances: all of them
        chance: what the best shortcut solver scores that the task does not allow, not one over the choices, [1]

    Raises:
        InputError: no instances, or a chance outside [0, 1)

    >>> floor(14, 24, chance=0.33).above, floor(22, 24, chance=0.33).above
    (False, True)
    """
    if not 0 <= finite("chance", chance) < 1:
        raise InputError(f"chance must be in [0, 1), got {chance}")
    bound, _ = wilson(right, instances, _ONE_SIDED)
    share = right / instances
    return Floor(bound > chance + MARGIN, share > CEILING, share, bound, chance + MARGIN)
