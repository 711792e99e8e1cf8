"""Gemma 4's "proportional" type: a part of the head's frequencies, divided by a factor."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from ordinate.errors import at_least
from ordinate.scaling.base import Frequencies, Scaling, ScalingFacts, checked_length


@dataclass(frozen=True)
class Proportional(Scaling):
    """Divide the frequencies of a rope whose `part` is "proportional" by a factor.

    frequencies[i] = plain[i] / factor

    The word names two things in configs: which channels turn (`Rope.part`, where the share of turning pairs
    keeps the whole head's frequencies) and this division, which Gemma 4 leaves at 1.

    Args:
        factor: >= 1

    Source: transformers 5.24, rope type "proportional" (Gemma 4).
    Differs from the paper: there is none.
    """

    name: ClassVar[str] = "proportional"
    facts: ClassVar[ScalingFacts] = ScalingFacts(
        does="divides every frequency by the factor, in a head of which a share of the pairs turns",
        needs_training="yes",
        source="transformers 5.24 (Gemma 4)",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"identity_at_one", "bounded", "ordered", "static"})

    factor: float = 1.0

    def __post_init__(self) -> None:
        at_least("factor", self.factor, 1)

    @classmethod
    def example(cls, factor: float = 4.0) -> Self:
        return cls(factor)

    def frequencies(self, rope: Frequencies, length: int | None = None) -> np.ndarray:
        checked_length(length)
        return rope.plain() / self.factor
