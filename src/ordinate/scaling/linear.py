"""Position Interpolation (PI): every frequency divided by the factor."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from ordinate.errors import at_least
from ordinate.scaling.base import Frequencies, Scaling, ScalingFacts, checked_length


@dataclass(frozen=True)
class Linear(Scaling):
    """Squeeze `factor` times as many positions into the trained angles.

    frequencies[i] = plain[i] / factor

    Args:
        factor: target length / trained length, >= 1

    Source: Chen et al. 2023, arXiv:2306.15595, equation 4 (positions divided by L'/L, which is the same angle).
    Differs from the paper: nothing.

    >>> from ordinate.schemes.rope import Rope
    >>> Linear(4.0).frequencies(Rope(head_dim=4))
    array([0.25  , 0.0025])
    """

    name: ClassVar[str] = "linear"
    facts: ClassVar[ScalingFacts] = ScalingFacts(
        does="divides every frequency by the factor",
        needs_training="yes: neighbours come closer than any trained distance",
        source="Chen et al. 2023, arXiv:2306.15595",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"identity_at_one", "bounded", "ordered", "static"})

    factor: float

    def __post_init__(self) -> None:
        at_least("factor", self.factor, 1)

    @classmethod
    def example(cls, factor: float = 4.0) -> Self:
        return cls(factor)

    def frequencies(self, rope: Frequencies, length: int | None = None) -> np.ndarray:
        checked_length(length)
        return rope.plain() / self.factor
