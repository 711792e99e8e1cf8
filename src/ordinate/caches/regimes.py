"""What a length-dependent scaling method is told the length is, while a sequence grows.

Dynamic NTK and LongRoPE turn q and k by the length of the sequence. A cache cannot hold what a pass over a longer
sequence would have computed: from the second layer on, keys come from hidden states of the old length. So a cache
follows one of three regimes, and its stamp says which. Methods that do not depend on the length are the same in all.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ordinate.errors import InputError, got, positive_integer
from ordinate.registry import suggestion
from ordinate.scaling.base import Scaling, checked_length


class Regime(ABC):
    """Which length each row of a sequence is turned by; a row is a query with all the keys that it sees."""

    name: ClassVar[str]

    @abstractmethod
    def length(self, position: int, reached: int) -> int:
        """The length that the row at `position` is turned by, in a sequence of `reached` tokens so far, [token]."""

    def settled(self, stretch: Scaling | None, positions: np.ndarray, reached: int) -> list[int | None]:
        """For each row, the length that stands for all that turn it alike (`Scaling.settled`).

        Args:
            stretch: the method, or None where there is none
            positions: [rows], integer, >= 0, [token]
            reached: tokens of the sequence so far, these rows included, [token]

        Returns:
            [rows]; None where the method turns as it does without any token

        Raises:
            InputError: a row past a frozen length
        """
        # A frozen length refuses what lies past it, whether anything depends on it or not.
        lengths = [self.length(int(position), reached) for position in positions]
        return [None if stretch is None else stretch.settled(length) for length in lengths]


@dataclass(frozen=True)
class Frozen(Regime):
    """One length for the life of a sequence: equal to one pass over the text that is told this length.

    Args:
        fixed: that length, which no position may reach, [token]
    """

    name: ClassVar[str] = "frozen"

    fixed: int

    def __post_init__(self) -> None:
        positive_integer("length", self.fixed)
        checked_length(self.fixed)

    def length(self, position: int, reached: int) -> int:
        if max(position, reached - 1) >= self.fixed:
            raise InputError(
                f"a cache frozen at length {self.fixed} must hold positions below it, got {max(position, reached - 1)}"
            )
        return self.fixed


@dataclass(frozen=True)
class PerRow(Regime):
    """The row at position m is turned by length m + 1, q and all its keys: equal for every way of chunking."""

    name: ClassVar[str] = "per_row"

    def length(self, position: int, reached: int) -> int:
        del reached
        return position + 1


@dataclass(frozen=True)
class Recompute(Regime):
    """All rows by the length reached; where that turns them otherwise, all is computed again from the ids.

    Equal to transformers' pass without a cache. Dynamic NTK past its window computes all again for every token.
    """

    name: ClassVar[str] = "recompute"

    def length(self, position: int, reached: int) -> int:
        del position
        return reached


REGIMES = ("frozen", "per_row", "recompute")


def regime(name: str, length: int | None = None) -> Regime:
    """The regime with this name.

    Args:
        name: "frozen", "per_row" or "recompute"
        length: the length that "frozen" holds; for the others None, [token]

    Raises:
        InputError: another name, or a length where none belongs or none where one does

    >>> regime("frozen", 16384)
    Frozen(fixed=16384)
    """
    if isinstance(name, Regime):
        raise InputError(f"regime must be a name, 'frozen', 'per_row' or 'recompute', got the object {got(name)}")
    if name not in REGIMES:
        raise InputError(f"unknown regime {got(name)}{suggestion(name, list(REGIMES))}")
    if name == "frozen":
        if length is None:
            raise InputError("regime 'frozen' needs the length that it holds, got None")
        return Frozen(length)
    if length is not None:
        raise InputError(f"regime {name!r} takes its length from the sequence: length must be None, got {got(length)}")
    return PerRow() if name == "per_row" else Recompute()
