"""Adjusted base frequency (ABF): a larger base alone."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from ordinate.errors import positive
from ordinate.scaling.base import Frequencies, Scaling, ScalingFacts, checked_length


@dataclass(frozen=True)
class Abf(Scaling):
    """Replace the base by a larger one and train on, as Code Llama, Llama 3 and Qwen did.

    frequencies[i] = new_base ** (-2 i / rotary_dim)

    Args:
        base: the new base, [1], finite and > 0

    Source: Xiong et al. 2023, arXiv:2309.16039, section 4.1; Rozière et al. 2023, arXiv:2308.12950, section 2.4.
    Differs from the paper: nothing.

    >>> from ordinate.schemes.rope import Rope
    >>> Abf(1e6).frequencies(Rope(head_dim=4))
    array([1.   , 0.001])
    """

    name: ClassVar[str] = "abf"
    facts: ClassVar[ScalingFacts] = ScalingFacts(
        does="replaces the base by a larger one: slow pairs turn slower, the fastest is unchanged",
        needs_training="yes: made to be trained on at the longer length",
        source="Xiong et al. 2023, arXiv:2309.16039",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"identity_at_one", "ordered", "static"})

    base: float

    def __post_init__(self) -> None:
        positive("base", self.base)

    @classmethod
    def example(cls, factor: float = 4.0) -> Self:
        return cls(10000.0 * factor)

    def frequencies(self, rope: Frequencies, length: int | None = None) -> np.ndarray:
        checked_length(length)
        return rope.plain(self.base)
