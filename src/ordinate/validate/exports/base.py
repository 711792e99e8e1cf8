"""What is exported, and what a format adds to it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ordinate.errors import InputError, non_negative_integer, positive_integer
from ordinate.registry import lookup
from ordinate.validate.builder import MODES, PLACES
from ordinate.validate.cells import Cell
from ordinate.validate.sampling.answers import placed


@dataclass(frozen=True)
class Part:
    """A cell to be exported.

    Args:
        cell: of answers
        seed: of the instances
        units: how many, from the first on
    """

    cell: Cell
    seed: int
    units: int

    def __post_init__(self) -> None:
        non_negative_integer("seed", self.seed)
        positive_integer("units", self.units)
        if self.cell.measure != "answer":
            raise InputError(f"answers alone can be exported, got the measure {self.cell.measure!r}")
        positive_integer("reserve", self.cell.reserve)
        try:
            placed(self.cell.places)
        except ValueError:
            choices = ", ".join(PLACES)
            raise InputError(
                f"places must be {choices}, or shares of the context with commas, got {self.cell.places!r}"
            ) from None


@dataclass(frozen=True)
class Entry:
    """A cell that was written.

    Args:
        name: of the task in the other tool
        task: of Ordinate
        file: its documents, as JSON lines
        part: the cell, seed and units
        members: how many documents make a unit
        chance: the best score of a reader that uses no evidence
        window: what a prompt and its answer take, [token]
    """

    name: str
    task: str
    file: str
    part: Part
    members: int
    chance: float
    window: int


@dataclass(frozen=True)
class Export:
    """All of an export, for whoever writes the files beside the documents.

    Args:
        group: the name that all tasks begin with
        mode: of the responses, the same in all cells
        entries: the cells
        tokenizer: its SHA-256
        starts: whether an engine is to put the beginning-of-text token before a prompt; elsewhere the tokenizer has
            none, or the chat template writes it
        habit: whether the tokenizer puts it there where nothing is said
        stop: what ends a response
        window: what the longest prompt and its answer take, [token]
    """

    group: str
    mode: str
    entries: tuple[Entry, ...]
    tokenizer: str
    starts: bool
    habit: bool
    stop: tuple[str, ...]
    window: int


class Format(ABC):
    """The files that another tool needs beside the documents."""

    name: ClassVar[str]
    title: ClassVar[str]
    modes: ClassVar[tuple[str, ...]] = MODES
    """In which modes the tool sends a prompt as it is."""
    shipped: ClassVar[tuple[str, ...]] = ("scoring.py",)
    """Files that are written as they stand in the package."""

    @abstractmethod
    def files(self, export: Export) -> Mapping[str, str]:
        """Their names and texts."""


def find(name: str) -> Format:
    """The format of this name.

    Raises:
        InputError: there is none; the message suggests the nearest
    """
    return lookup("ordinate.validate.exports", name, "format")()
