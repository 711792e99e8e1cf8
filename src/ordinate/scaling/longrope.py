"""LongRoPE: a searched divisor for each pair, one list within the trained length, another past it."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from ordinate.errors import InputError, positive, positive_integer
from ordinate.scaling.base import Frequencies, Scaling, ScalingFacts, checked_length


@dataclass(frozen=True)
class LongRope(Scaling):
    """Divide each frequency by a factor of its own; the list depends on the length.

    frequencies[i] = plain[i] / short_factor[i]   where length is None or <= L
    frequencies[i] = plain[i] / long_factor[i]    where length > L
    attention_factor = sqrt(1 + ln(factor) / ln(L)), 1 for a factor <= 1, in both regimes

    Args:
        short_factor, long_factor: one divisor a pair, > 0
        factor: target length / L, which sets the magnitude
        original_max_position_embeddings: L, the trained length, [token]
        magnitude_factor: Hugging Face's `attention_factor`, which replaces the computed magnitude

    Source: Ding et al. 2024, arXiv:2402.13753, section 3; magnitude: Microsoft, LongRoPE and Phi-3 code.
    Differs from the paper: the paper keeps the first tokens' angles; no released checkpoint does.
    """

    name: ClassVar[str] = "longrope"
    facts: ClassVar[ScalingFacts] = ScalingFacts(
        does="divides each pair by a searched factor, from one of two lists; raises logits",
        needs_training="yes: the lists are found by search and trained on",
        source="Ding et al. 2024, arXiv:2402.13753",
    )
    traits: ClassVar[frozenset[str]] = frozenset()

    short_factor: tuple[float, ...]
    long_factor: tuple[float, ...]
    factor: float
    original_max_position_embeddings: int
    magnitude_factor: float | None = None

    def __post_init__(self) -> None:
        for field in ("short_factor", "long_factor"):
            values = getattr(self, field)
            if not isinstance(values, (list, tuple)) or not values:
                raise InputError(f"{field} must be a list of divisors, one a pair, got {values!r}")
            object.__setattr__(self, field, tuple(positive(f"{field}[{i}]", v) for i, v in enumerate(values)))
        positive("factor", self.factor)
        positive_integer("original_max_position_embeddings", self.original_max_position_embeddings)
        if self.magnitude_factor is not None:
            positive("attention_factor", self.magnitude_factor)
        if self.magnitude_factor is None and self.factor > 1 and self.original_max_position_embeddings < 2:
            raise InputError("original_max_position_embeddings must be >= 2 for LongRoPE's magnitude, got 1")

    @classmethod
    def example(cls, factor: float = 4.0) -> Self:
        return cls((1.0,) * 8, tuple(np.linspace(1, factor, 8).tolist()), factor, original_max_position_embeddings=64)

    def frequencies(self, rope: Frequencies, length: int | None = None) -> np.ndarray:
        past = (checked_length(length) or 0) > self.original_max_position_embeddings
        name = "long_factor" if past else "short_factor"
        divisors, plain = np.array(getattr(self, name)), rope.plain()
        if divisors.shape != plain.shape:
            raise InputError(f"{name} must have one entry for each of {len(plain)} pairs, got {len(divisors)}")
        return plain / divisors

    def attention_factor(self, length: int | None = None) -> float:
        checked_length(length)
        if self.magnitude_factor is not None:
            return float(self.magnitude_factor)
        if self.factor <= 1:
            return 1.0
        return math.sqrt(1 + math.log(self.factor) / math.log(self.original_max_position_embeddings))

    def settled(self, length: int | None) -> int | None:
        border = self.original_max_position_embeddings
        return border + 1 if (checked_length(length) or 0) > border else None
