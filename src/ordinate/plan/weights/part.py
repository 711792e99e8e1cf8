"""A part of the weights: how many numbers, in how many bytes, on which layer, and how ranks cut it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Cut = Literal["even", "key_value", "fused", "whole"]
"""even: tensor-parallel ranks share it; key_value: as far as there are heads, then copies; fused: queries, keys and
values in one matrix, each cut as it is alone; whole: each has all."""

Place = int | Literal["first", "last", "every"]
"""A layer's number, or the first or last pipeline rank, or every one."""


@dataclass(frozen=True)
class Part:
    """Numbers that are cut alike.

    Args:
        name: what they are
        numbers: how many
        place: where they stand
        cut: how tensor-parallel ranks share them
        bytes: what they take, [byte]
    """

    name: str
    numbers: int
    place: Place
    cut: Cut
    bytes: float = 0.0


@dataclass(frozen=True)
class Parts:
    """All of the weights.

    Args:
        parts: in the order of the model
        dtype: of all, or None where there are several
        source: where this is from
        layers: how many layers the places count
    """

    parts: tuple[Part, ...]
    dtype: str | None
    source: str

    @property
    def bytes(self) -> int:
        return round(sum(part.bytes for part in self.parts))

    @property
    def numbers(self) -> int:
        return sum(part.numbers for part in self.parts)


def rank_bytes(parts: Iterable[Part], tensor: int, heads: int, query_heads: int) -> float:
    """What parts take on one tensor-parallel rank.

    fused: bytes * (query_heads / tensor + 2 * heads / min(tensor, heads)) / (query_heads + 2 * heads)

    Args:
        parts: those of its pipeline stage
        tensor: ranks
        heads: key and value heads: there are no more cuts of their projections than these
        query_heads: as wide as these

    Returns:
        [byte]

    >>> fused = Part("qkv", 18, 0, "fused", 18.0)  # 16 query heads, one key and one value, a byte each
    >>> rank_bytes([fused], 16, 1, 16)
    3.0
    """
    copied = min(tensor, heads)
    fused = (query_heads / tensor + 2 * heads / copied) / (query_heads + 2 * heads)
    share = {"even": 1 / tensor, "key_value": 1 / copied, "fused": fused, "whole": 1.0}
    return sum(part.bytes * share[part.cut] for part in parts)
