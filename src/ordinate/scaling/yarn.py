"""YaRN: fast pairs kept, slow pairs interpolated, a ramp between, and a magnitude on the logits."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from ordinate.errors import InputError, at_least, one_of, positive, positive_integer
from ordinate.scaling.base import Frequencies, Scaling, ScalingFacts, checked_length


def magnitude(factor: float, mscale: float = 1.0) -> float:
    """YaRN's 0.1 * mscale * ln(factor) + 1, and 1 for a factor <= 1. Source: arXiv:2309.00071, equation 22.

    >>> round(magnitude(4.0), 6)
    1.138629
    """
    return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0


@dataclass(frozen=True)
class Yarn(Scaling):
    """Blend plain and interpolated frequencies by how many turns each pair makes in the trained window.

    index(r) = d * ln(L / (2 pi r)) / (2 ln base)          the pair that turns r times in L tokens
    ramp[i] = clip((i - index(beta_fast)) / (index(beta_slow) - index(beta_fast)), 0, 1)
    frequencies[i] = plain[i] * (1 - ramp[i]) + plain[i] / factor * ramp[i]

    Args:
        factor: target length / trained length, >= 1
        original_max_position_embeddings: L, the trained length, [token]
        magnitude_factor: Hugging Face's `attention_factor`, which replaces the computed magnitude
        beta_fast, beta_slow: turns above which a pair is kept, below which it is interpolated; as many (Kimi K2) make
            the ramp a step
        mscale, mscale_all_dim: where both are given and not 0, the magnitude is
            (0.1 mscale ln factor + 1) / (0.1 mscale_all_dim ln factor + 1)
        truncate: round the ends of the ramp outwards to whole pairs (gpt-oss ships false)
        ramp: "index" is linear over the pair's index, as in every checkpoint and engine;
            "turns" is linear over its number of turns, as the paper writes it

    Raises:
        InputError: beta_fast < beta_slow (engines then invert the ramp or warn), or a value out of range;
            when used, a rope of base <= 1

    Source: Peng et al. 2023, arXiv:2309.00071, definitions 2 and 3, equations 17 to 22.
    Differs from the paper: the default ramp runs over the index, as the authors' code does, not over turns
    (up to 2.3 times apart at factor 8); `truncate`, `mscale` and `mscale_all_dim` are DeepSeek's and gpt-oss's.
    """

    name: ClassVar[str] = "yarn"
    facts: ClassVar[ScalingFacts] = ScalingFacts(
        does="keeps pairs that turn often, divides slow pairs by the factor, blends between; raises logits a little",
        needs_training="little; works at small factors without",
        source="Peng et al. 2023, arXiv:2309.00071",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"identity_at_one", "bounded", "ordered", "static"})

    factor: float
    original_max_position_embeddings: int
    magnitude_factor: float | None = None
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    mscale: float | None = None
    mscale_all_dim: float | None = None
    truncate: bool = True
    ramp: Literal["index", "turns"] = "index"

    def __post_init__(self) -> None:
        at_least("factor", self.factor, 1)
        positive_integer("original_max_position_embeddings", self.original_max_position_embeddings)
        if self.magnitude_factor is not None:
            positive("attention_factor", self.magnitude_factor)
        positive("beta_fast", self.beta_fast)
        positive("beta_slow", self.beta_slow)
        if self.beta_fast < self.beta_slow:
            raise InputError(f"beta_fast must be >= beta_slow {self.beta_slow:g}, got {self.beta_fast:g}")
        if self.beta_fast == self.beta_slow and self.ramp == "turns":
            raise InputError(f"beta_fast must be > beta_slow {self.beta_slow:g} for a ramp over turns, got as much")
        for field in ("mscale", "mscale_all_dim"):
            if getattr(self, field) is not None:
                at_least(field, getattr(self, field), 0)
        if not isinstance(self.truncate, bool):
            raise InputError(f"truncate must be true or false, got {self.truncate!r}")
        one_of("ramp", self.ramp, ("index", "turns"))

    @classmethod
    def example(cls, factor: float = 4.0) -> Self:
        return cls(factor, original_max_position_embeddings=4096)

    def index(self, rope: Frequencies, turns: float) -> float:
        """The (fractional) pair that makes this many turns within the trained length."""
        if rope.base <= 1:
            raise InputError(f"YaRN needs a base > 1, because its ramp divides by ln base, got {rope.base:g}")
        wavelength = self.original_max_position_embeddings / (2 * math.pi * turns)
        if not 0 < wavelength < math.inf:
            raise InputError(f"beta_fast and beta_slow must leave a wavelength within float64, got {turns:g} turns")
        return rope.spectrum_dim * math.log(wavelength) / (2 * math.log(rope.base))

    def ramp_ends(self, rope: Frequencies) -> tuple[float, float]:
        """The pair up to which frequencies are kept, and the pair from which they are interpolated."""
        low, high = self.index(rope, self.beta_fast), self.index(rope, self.beta_slow)
        if self.truncate:
            low, high = math.floor(low), math.ceil(high)
        # Every engine bounds the ramp by the channel count here, not by the pair count.
        low, high = max(low, 0), min(high, rope.spectrum_dim - 1)
        return low, high + 0.001 if low == high else high

    def interpolated(self, rope: Frequencies) -> np.ndarray:
        """How far each pair is interpolated: [pairs], 0 kept, 1 divided by the factor."""
        plain = rope.plain()
        if self.ramp == "turns":
            turns = self.original_max_position_embeddings * plain / (2 * math.pi)
            return 1 - np.clip((turns - self.beta_slow) / (self.beta_fast - self.beta_slow), 0, 1)
        low, high = self.ramp_ends(rope)
        return np.clip((rope.spectrum_index - low) / (high - low), 0, 1)

    def frequencies(self, rope: Frequencies, length: int | None = None) -> np.ndarray:
        checked_length(length)
        plain, ramp = rope.plain(), self.interpolated(rope)
        return plain * (1 - ramp) + plain / self.factor * ramp

    def attention_factor(self, length: int | None = None) -> float:
        checked_length(length)
        if self.magnitude_factor is not None:
            return float(self.magnitude_factor)
        if self.mscale and self.mscale_all_dim:
            return magnitude(self.factor, self.mscale) / magnitude(self.factor, self.mscale_all_dim)
        return magnitude(self.factor)
