"""Llama 3.1's scaling: long wavelengths interpolated, short ones kept, a blend between."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from ordinate.errors import InputError, at_least, positive, positive_integer
from ordinate.scaling.base import Frequencies, Scaling, ScalingFacts, checked_length


@dataclass(frozen=True)
class Llama3(Scaling):
    """Keep pairs that turn more than `high_freq_factor` times in the trained length, interpolate those below
    `low_freq_factor`, blend between.

    turns[i] = L * plain[i] / (2 pi)
    t[i] = clip((turns[i] - low_freq_factor) / (high_freq_factor - low_freq_factor), 0, 1)
    frequencies[i] = (1 - t[i]) * plain[i] / factor + t[i] * plain[i]

    Args:
        factor: >= 1
        original_max_position_embeddings: L, the trained length, [token]
        low_freq_factor, high_freq_factor: turns in L; equal values leave no band between (Llama 4)

    Source: Meta, llama-models, models/llama3/model.py; Llama team 2024, arXiv:2407.21783, gives the base only.
    Differs from the paper: nothing.
    """

    name: ClassVar[str] = "llama3"
    facts: ClassVar[ScalingFacts] = ScalingFacts(
        does="divides slow pairs by the factor, keeps fast ones, blends between by number of turns",
        needs_training="yes: trained on in Llama 3.1",
        source="Meta 2024, llama-models; arXiv:2407.21783",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"identity_at_one", "bounded", "ordered", "static"})

    factor: float
    original_max_position_embeddings: int
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0

    def __post_init__(self) -> None:
        at_least("factor", self.factor, 1)
        positive_integer("original_max_position_embeddings", self.original_max_position_embeddings)
        positive("low_freq_factor", self.low_freq_factor)
        positive("high_freq_factor", self.high_freq_factor)
        if self.high_freq_factor < self.low_freq_factor:
            raise InputError(
                f"high_freq_factor must be >= low_freq_factor {self.low_freq_factor:g}, got {self.high_freq_factor:g}"
            )

    @classmethod
    def example(cls, factor: float = 4.0) -> Self:
        return cls(factor, original_max_position_embeddings=8192)

    def frequencies(self, rope: Frequencies, length: int | None = None) -> np.ndarray:
        checked_length(length)
        plain = rope.plain()
        turns = self.original_max_position_embeddings * plain / (2 * math.pi)
        band = self.high_freq_factor - self.low_freq_factor
        kept = (
            np.clip((turns - self.low_freq_factor) / band, 0, 1)
            if band
            else np.where(turns >= self.low_freq_factor, 1.0, 0.0)
        )
        return (1 - kept) * (plain / self.factor) + kept * plain
