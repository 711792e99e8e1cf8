"""What every scaling method offers: frequencies and a magnitude, as functions of the length alone."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

import numpy as np

from ordinate.errors import MAXIMUM_POSITION, InputError, got, positive_integer


class Frequencies(Protocol):
    """The trained frequencies that a method stretches; every `schemes.base.Rotary` is one."""

    @property
    def base(self) -> float: ...
    @property
    def spectrum_dim(self) -> int: ...
    @property
    def spectrum_index(self) -> np.ndarray: ...
    def plain(self, base: float | None = None) -> np.ndarray: ...


@dataclass(frozen=True)
class ScalingFacts:
    """What a method is, in words: the scaling table in the documentation is made from these."""

    does: str
    needs_training: str
    source: str


class Scaling(ABC):
    """A method of stretching rotary frequencies: a frozen value without state.

    A method that depends on the length takes it as an argument, so that the order of calls cannot matter.
    `length` is the number of tokens seen so far ([token], positions 0 to length - 1); None asks for what an
    engine holds at construction, before any token.
    """

    name: ClassVar[str]
    facts: ClassVar[ScalingFacts]
    traits: ClassVar[frozenset[str]] = frozenset()
    """The laws that the method obeys, by name; `tests/test_laws.py` holds it to each:

    `identity_at_one`: a factor of 1 changes nothing.
    `bounded`: no frequency rises, none falls below plain / factor.
    `ordered`: faster channels stay faster.
    `static`: the length changes nothing.
    """

    @classmethod
    @abstractmethod
    def example(cls, factor: float = 4.0) -> Self:
        """A small valid instance with this factor for 8 pairs, for laws, documentation and benchmarks."""

    @abstractmethod
    def frequencies(self, rope: Frequencies, length: int | None = None) -> np.ndarray:
        """The stretched frequencies: [pairs], float64, [rad/token]."""

    def attention_factor(self, length: int | None = None) -> float:
        """What multiplies cos and sin, [1]."""
        checked_length(length)
        return 1.0

    def settled(self, length: int | None) -> int | None:
        """The length that stands for all with its frequencies and magnitude; None where they are those of no length.

        frequencies(settled(length)) = frequencies(length)

        What is rotated under two lengths can stand in one cache exactly where this is the same.
        """
        checked_length(length)
        return None if "static" in self.traits else length


def checked_length(length: int | None) -> int | None:
    """Return `length` as an int or None, or raise `InputError` unless it is None or an integer from 1 to 2**53."""
    number = None if length is None else positive_integer("length", length)
    if number is not None and number > MAXIMUM_POSITION:
        raise InputError(f"length must be at most 2**53, beyond which float64 skips integers, got {got(number)}")
    return number


def ntk_base(base: float, spectrum_dim: int, factor: float) -> float:
    """The base whose slowest pair turns `factor` times slower: base * factor ** (d / (d - 2)).

    Raises:
        InputError: a single pair (spectrum_dim 2) turns at 1 rad/token whatever the base; the base overflows

    Source: bloc97 2023, "NTK-aware scaled RoPE"; Peng et al. 2023, arXiv:2309.00071, equation 16.

    >>> round(ntk_base(10000.0, 128, 8.0), 2)
    82684.62
    """
    if spectrum_dim <= 2:
        raise InputError(f"NTK scaling needs rotary_dim >= 4, because one pair has no slower pair, got {spectrum_dim}")
    try:
        return base * factor ** (spectrum_dim / (spectrum_dim - 2))
    except OverflowError:
        raise InputError(f"factor is too large for NTK scaling: its base leaves float64, got {factor:g}") from None
