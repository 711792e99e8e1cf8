"""Rotary position embedding (RoPE)."""

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from ordinate.errors import InputError, even_integer, one_of, positive, positive_integer
from ordinate.schemes._integers import integer_positions
from ordinate.schemes.base import Array, Facts, Rotary


@dataclass(frozen=True)
class Rope(Rotary):
    """Rotate pair i of q and k by `position * base ** (-2 i / rotary_dim)`.

    angles[p, i] = direction * positions[p] * base ** (-2 i / rotary_dim)

    Args:
        head_dim: channels of a head
        rotary_dim: channels that turn; all of the head where not given
        base: Hugging Face's `rope_theta`, [1]
        pairing: "half" pairs channel i with i + pairs (GPT-NeoX, Llama in Hugging Face);
            "interleaved" pairs 2i with 2i + 1 (GPT-J, Llama in Meta's files and in GGUF)
        part: which channels turn: the "first" or "last" `rotary_dim` of the head, or "proportional": pairs
            reach over the whole head (i with i + head_dim / 2), frequencies are those of the whole head,
            and only the first `rotary_dim / 2` of them are not 0
        direction: 1, or -1 for NanoChat's opposite turn

    Raises:
        InputError: an odd or too large `rotary_dim`, a base that is not finite and > 0, an unknown word

    Source: Su et al. 2021, arXiv:2104.09864, equations 14 and 15; partial rotation: GPT-J; "proportional": Gemma 4.
    Differs from the paper: the paper's pairs are interleaved; "half" is the same model with channels renamed.

    >>> Rope(head_dim=4).plain()
    array([1.  , 0.01])
    """

    name: ClassVar[str] = "rope"
    facts: ClassVar[Facts] = Facts(
        adds="a turn of each pair of channels by position times frequency",
        enters="q and k of every layer, after projection",
        learned="nothing",
        beyond="defined everywhere; slow pairs reach angles never seen in training, and quality falls",
        source="Su et al. 2021, arXiv:2104.09864",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"shift_invariant", "norm_kept", "identity_at_zero"})

    head_dim: int
    rotary_dim: int = 0
    base: float = 10000.0
    pairing: Literal["half", "interleaved"] = "half"
    part: Literal["first", "last", "proportional"] = "first"
    direction: Literal[1, -1] = 1

    def __post_init__(self) -> None:
        positive_integer("head_dim", self.head_dim)
        if self.rotary_dim == 0:
            object.__setattr__(self, "rotary_dim", self.head_dim)
        even_integer("rotary_dim", self.rotary_dim)
        if self.rotary_dim > self.head_dim:
            raise InputError(f"rotary_dim must be <= head_dim {self.head_dim}, got {self.rotary_dim}")
        positive("base", self.base)
        one_of("pairing", self.pairing, ("half", "interleaved"))
        one_of("part", self.part, ("first", "last", "proportional"))
        if self.part == "proportional":
            even_integer("head_dim", self.head_dim)
        if self.direction not in (1, -1):
            raise InputError(f"direction must be 1 or -1, got {self.direction!r}")

    @classmethod
    def example(cls) -> Self:
        return cls(head_dim=16, rotary_dim=8)

    @property
    def pairs(self) -> int:
        return (self.head_dim if self.part == "proportional" else self.rotary_dim) // 2

    def plain(self, base: float | None = None) -> np.ndarray:
        base = self.base if base is None else positive("base", base)
        exponents = np.arange(self.pairs) / self.pairs
        frequencies = float(base) ** -exponents
        return np.where(np.arange(self.pairs) < self.rotary_dim // 2, frequencies, 0.0)

    def angles(self, positions: Array, frequencies: np.ndarray | None = None) -> np.ndarray:
        turns = self.plain() if frequencies is None else frequencies
        return self.direction * integer_positions("positions", positions)[:, None] * turns
