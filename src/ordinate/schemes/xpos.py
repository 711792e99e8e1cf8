"""Extrapolatable position embedding (xPos): RoPE whose pairs fade with distance."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from ordinate.errors import InputError, even_integer, got, one_of, positive, positive_integer
from ordinate.schemes._integers import integer_positions
from ordinate.schemes.base import Array, Facts, Rotary
from ordinate.schemes.rope import Rope


@dataclass(frozen=True)
class Xpos(Rotary):
    """Rotate as RoPE does, and scale queries up and keys down, so that a pair's score falls with distance.

    zeta[i] = (2 i / rotary_dim + gamma) / (1 + gamma)
    query[p, i] = zeta[i] ** ((positions[p] - centre) / scale_base), key[p, i] = 1 / query[p, i]
    a pair's score at distance n is RoPE's times zeta[i] ** (n / scale_base)

    The product depends on distance alone, the factors on position: a query's and a key's must be of one centre,
    and some 36,000 positions from it float32 no longer holds them. `magnitudes` refuses there; `decay` gives
    the product, which is what a kernel should use at any length.

    Args:
        head_dim: channels of a head
        rotary_dim: channels that turn, the first of the head; all where not given
        base: as in RoPE, [1]
        pairing: "half" or "interleaved" (the authors' code)
        scale_base: distance at which a pair has fallen by its zeta, [token]
        gamma: how much the fastest pair keeps, [1]
        centre: the position that is scaled by 1; one for the life of a cache, [token]

    Raises:
        InputError: an odd or too large `rotary_dim`, a number out of range, an unknown word

    Source: Sun et al. 2022, arXiv:2212.10554, section 3.2 and algorithm 1; torchscale, xpos_relative_position.py.
    Differs from the paper: the centre is a constant. The authors' code and flash-attention take half the length
    of the table, which moves as the table grows and leaves cached keys with another scale than their queries.

    >>> Xpos(head_dim=4).decay([0, 512]).round(4)
    array([[1.    , 1.    ],
           [0.2857, 0.6429]])
    """

    name: ClassVar[str] = "xpos"
    facts: ClassVar[Facts] = Facts(
        adds="RoPE's turn, and a scale that makes each pair's score fall exponentially with distance",
        enters="q and k of every layer, after projection",
        learned="nothing",
        beyond="fast pairs fade, so far tokens weigh less; made for reading longer than trained",
        source="Sun et al. 2022, arXiv:2212.10554",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"shift_invariant"})

    head_dim: int
    rotary_dim: int = 0
    base: float = 10000.0
    pairing: Literal["half", "interleaved"] = "half"
    scale_base: float = 512.0
    gamma: float = 0.4
    centre: int = 0

    def __post_init__(self) -> None:
        positive_integer("head_dim", self.head_dim)
        if self.rotary_dim == 0:
            object.__setattr__(self, "rotary_dim", self.head_dim)
        if even_integer("rotary_dim", self.rotary_dim) > self.head_dim:
            raise InputError(f"rotary_dim must be <= head_dim {self.head_dim}, got {self.rotary_dim}")
        positive("base", self.base)
        one_of("pairing", self.pairing, ("half", "interleaved"))
        positive("scale_base", self.scale_base)
        positive("gamma", self.gamma)
        if isinstance(self.centre, bool) or not isinstance(self.centre, int):
            raise InputError(f"centre must be an integer, got {got(self.centre)}")

    @classmethod
    def example(cls) -> Self:
        return cls(head_dim=16, centre=8)

    @property
    def pairs(self) -> int:
        return self.rotary_dim // 2

    @property
    def zeta(self) -> np.ndarray:
        """What is left of each pair at distance `scale_base`: [pairs], float64, [1]."""
        return (np.arange(self.pairs) / self.pairs + self.gamma) / (1 + self.gamma)

    @property
    def reach(self) -> int:
        """How far from the centre every scale is a normal float32, [token]."""
        return math.floor(self.scale_base * math.log(np.finfo(np.float32).tiny) / math.log(self.zeta[0]))

    def plain(self, base: float | None = None) -> np.ndarray:
        return Rope(head_dim=self.rotary_dim, base=self.base).plain(base)

    def angles(self, positions: Array, frequencies: np.ndarray | None = None) -> np.ndarray:
        turns = self.plain() if frequencies is None else frequencies
        return integer_positions("positions", positions)[:, None] * turns

    def magnitudes(self, positions: Array) -> tuple[np.ndarray, np.ndarray]:
        """What multiplies the rotated q, and the rotated k.

        Args:
            positions: [tokens], integer, at most `reach` from `centre`, [token]

        Returns:
            query, key: [tokens, pairs] each, float64, normal as float32

        Raises:
            InputError: a position further out, where float32 would overflow or vanish
        """
        away = integer_positions("positions", positions) - self.centre
        if away.size and np.abs(away).max() > self.reach:
            raise InputError(
                f"positions must be within {self.reach} of xPos' centre {self.centre}, because its scale leaves "
                f"float32 there, got {int(away[np.abs(away).argmax()]) + self.centre}; `decay` scales by distance"
            )
        query = self.zeta ** (away[:, None] / self.scale_base)
        return query, 1 / query

    def decay(self, distance: Array) -> np.ndarray:
        """What multiplies each pair's part of q k at a distance, whatever the positions.

        Args:
            distance: [distances], integer, query minus key position, [token]

        Returns:
            [distances, pairs], float64, [1]; falls to 0 far away

        Raises:
            InputError: a key so far in the future that float32 would overflow; causal attention masks it
        """
        steps = integer_positions("distance", distance)
        if steps.size and steps.min() < -self.reach:
            raise InputError(f"distance must be >= {-self.reach}, where xPos leaves float32, got {int(steps.min())}")
        return self.zeta ** (steps[:, None] / self.scale_base)
