"""Sandwich: the position-position term of sinusoidal encodings as a bias."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ordinate.errors import InputError, positive, positive_integer
from ordinate.schemes._libraries import distinct
from ordinate.schemes.base import DistanceBias, Facts, Learned


@dataclass(frozen=True)
class Sandwich(DistanceBias):
    """Lower each logit by how much less alike the sinusoids of two positions are than those of one.

    likeness = sum over i of cos(distance * base ** (-2 i / dim)), i = first ... first + dim / 2 - 1
    bias[h, q, k] = (likeness - dim / 2) / ratios[h], with ratios[h] = 8 (h + 1) / heads

    Args:
        heads: attention heads
        dim: width of the sinusoids (the paper's d-bar), even; it need not be the model's
        base: as in sinusoidal encoding, [1]
        first: the first i: 0 as in sinusoidal encoding (attention-gym), 1 in NeMo

    Raises:
        InputError: a number out of range, an odd `dim`

    Source: Chi et al. 2023, arXiv:2212.10356, section 5.
    Differs from the paper: dim / 2 is taken off in every head, so that distance 0 has bias 0 (NeMo does so too;
    attention-gym does not). Softmax does not see the difference.

    >>> Sandwich(heads=1, dim=2).by_distance([0, 1, -1]).round(4)
    array([[ 0.    , -0.0575, -0.0575]])
    """

    name: ClassVar[str] = "sandwich"
    facts: ClassVar[Facts] = Facts(
        adds="the inner product of two positions' sinusoids, compressed by a fixed ratio a head",
        enters="the attention logits of every layer",
        learned="nothing",
        beyond="defined everywhere; falls like a logarithm of distance, with ripples",
        source="Chi et al. 2023, arXiv:2212.10356",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"shift_invariant", "symmetric"})

    heads: int
    dim: int = 128
    base: float = 10000.0
    first: Literal[0, 1] = 0

    def __post_init__(self) -> None:
        positive_integer("heads", self.heads)
        if positive_integer("dim", self.dim) % 2:
            raise InputError(f"dim must be even, a sine and a cosine a frequency, got {self.dim}")
        positive("base", self.base)
        if self.first not in (0, 1):
            raise InputError(f"first must be 0 or 1, got {self.first!r}")

    @classmethod
    def example(cls) -> Self:
        return cls(heads=4, dim=16)

    @property
    def ratios(self) -> np.ndarray:
        """What each head divides by: [heads], float64, [1]."""
        return 8 * np.arange(1, self.heads + 1) / self.heads

    def _at(self, distance: np.ndarray, learned: Learned, xp: Any) -> Any:
        del learned
        values, index = distinct(np.abs(distance))
        frequencies = float(self.base) ** (-2 * np.arange(self.first, self.first + self.dim // 2) / self.dim)
        # 1 - cos x = 2 sin(x / 2) ** 2 keeps the digits that cos x - 1 loses where x is small
        unlike = 2 * np.square(np.sin(values[:, None] * frequencies / 2)).sum(-1)
        bias = 0.0 - unlike[index] / self.ratios.reshape(-1, *[1] * distance.ndim)
        return bias if xp is np else xp.asarray(bias)

    def _operations(self, tokens: int) -> int:
        # cosine, its argument and the sum at each distance either way; then one addition a logit
        distances = 2 * tokens - 1
        return distances * (3 * self.dim // 2 + 2 * self.heads) + self.heads * tokens * tokens
