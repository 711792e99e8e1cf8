"""Sinusoidal position encoding."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ordinate.errors import InputError, one_of, positive, positive_integer
from ordinate.schemes._integers import integer_positions
from ordinate.schemes.base import Additive, Array, Facts, Learned


@dataclass(frozen=True)
class Sinusoidal(Additive):
    """Add sines and cosines of position, at wavelengths that grow geometrically with the channel.

    frequencies[i] = base ** (-2 i / dim), "tensor2tensor": base ** (-i / (dim // 2 - 1))
    table[p, sine channel i] = sin(positions[p] * frequencies[i]), table[p, cosine channel i] = cos(...)

    Args:
        dim: channels of the encoding; the embedding's width where it is added
        base: the longest wavelength is about 2 pi base, [1]
        layout: "interleaved" has sin and cos side by side, channels 2i and 2i + 1 (the paper, DistilBERT);
            "concatenated" has all sines, then all cosines, of the same frequencies (Marian, Transformer-XL);
            "tensor2tensor" has all sines, then all cosines, of frequencies that reach 1 / base (Tensor2Tensor,
            fairseq, M2M100, XGLM)
        combine: "add" to the embedding, or "concat" beside it

    An odd `dim` has one sine more than cosines (5: 3 and 2); "tensor2tensor" ends in a channel of zeros instead.

    Raises:
        InputError: `dim` below 2 for "tensor2tensor", a base that is not finite and > 0, an unknown word

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.5.
    Differs from the paper: only by `layout`; embeddings are multiplied by sqrt(dim) before, by the caller.

    >>> Sinusoidal(dim=4).table([1]).round(4)
    array([[0.8415, 0.5403, 0.01  , 1.    ]])
    """

    name: ClassVar[str] = "sinusoidal"
    facts: ClassVar[Facts] = Facts(
        adds="sines and cosines of position at geometric wavelengths",
        enters="the input embedding, once, before the first layer",
        learned="nothing",
        beyond="defined everywhere; slow channels reach values never seen in training, and quality falls",
        source="Vaswani et al. 2017, arXiv:1706.03762",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"linear_in_shift"})

    dim: int
    base: float = 10000.0
    layout: Literal["interleaved", "concatenated", "tensor2tensor"] = "interleaved"
    combine: Literal["add", "concat"] = "add"

    def __post_init__(self) -> None:
        positive_integer("dim", self.dim)
        positive("base", self.base)
        one_of("layout", self.layout, ("interleaved", "concatenated", "tensor2tensor"))
        one_of("combine", self.combine, ("add", "concat"))
        if self.layout == "tensor2tensor" and self.dim < 2:
            raise InputError(f'layout "tensor2tensor" needs dim >= 2, got {self.dim}')
        if self._lone_sine:
            object.__setattr__(self, "traits", self.traits - {"linear_in_shift"})

    @classmethod
    def example(cls) -> Self:
        return cls(dim=16)

    @property
    def _lone_sine(self) -> bool:
        return self.layout != "tensor2tensor" and self.dim % 2 == 1

    @property
    def frequencies(self) -> np.ndarray:
        """The frequency of each sine: [ceil(dim / 2)] ([dim // 2] in "tensor2tensor"), float64, [rad/token]."""
        if self.layout == "tensor2tensor":
            pairs = self.dim // 2
            return float(self.base) ** (-np.arange(pairs) / max(pairs - 1, 1))
        return float(self.base) ** (-2 * np.arange((self.dim + 1) // 2) / self.dim)

    def table(self, positions: Array, learned: Learned | None = None, xp: Any = np) -> Array:
        self.learned_values(learned)
        angles = integer_positions("positions", positions)[:, None] * self.frequencies
        table = np.zeros((angles.shape[0], self.dim))
        sines, cosines = self._channels()
        table[:, sines] = np.sin(angles)
        table[:, cosines] = np.cos(angles[:, : len(cosines)])
        return table if xp is np else xp.asarray(table)

    def matrix(self, shift: int) -> np.ndarray:
        """The one matrix that moves every position's encoding by `shift` tokens.

        table(p + shift) = table(p) @ matrix(shift).T: a rotation of each sine and its cosine.

        Args:
            shift: how far, either way, [token]

        Returns:
            [dim, dim], float64

        Raises:
            InputError: an odd `dim`, whose last sine has no cosine to rotate with
        """
        if self._lone_sine:
            raise InputError(f"no matrix shifts dim {self.dim}: the last sine of an odd dim has no cosine")
        turns = int(integer_positions("shift", [shift])[0]) * self.frequencies
        sines, cosines = self._channels()
        matrix = np.eye(self.dim)
        matrix[sines, sines] = matrix[cosines, cosines] = np.cos(turns)
        matrix[sines, cosines], matrix[cosines, sines] = np.sin(turns), -np.sin(turns)
        return matrix

    def _channels(self) -> tuple[np.ndarray, np.ndarray]:
        """Which channels hold the sines, and which the cosines."""
        if self.layout == "interleaved":
            return np.arange(0, self.dim, 2), np.arange(1, self.dim, 2)
        sines = len(self.frequencies)
        return np.arange(sines), np.arange(sines, sines + self.dim // 2)
