"""What a filler is: sentences in an order, in blocks, from anywhere in which a text may begin."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from ordinate.validate.instances import Instance

CLAUSES = (
    "So.",
    "Yes.",
    "It was.",
    "So it was.",
    "It rained.",
    "All was well.",
    "Nobody came.",
    "It was late by then.",
    "All was quiet.",
    "It rained a little.",
    "They spoke no more of it.",
    "Nobody said anything for a while.",
)
"""Short sentences for what a filler's own cannot make; with these nearly every number of tokens can be closed."""


class Filler(ABC):
    """Sentences without end or with one, the same on every machine.

    A text takes them in order from a block of its own; `blocks` is how many there are, None where they never end, and
    `starts` how many of them a text may begin with.
    """

    name: ClassVar[str]
    repeats: ClassVar[bool] = False
    """Whether a sentence may stand twice in one text."""

    @property
    @abstractmethod
    def blocks(self) -> int | None:
        """How many blocks there are; None: there is no end."""

    @property
    @abstractmethod
    def starts(self) -> int:
        """How many of the blocks a text may begin with."""

    @abstractmethod
    def sentences(self, block: int) -> list[str]:
        """The sentences of one block, one line each, without white space at their ends; a block may be empty."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """What decides the sentences, for the record of a run: the name, and a sha256 where there is a text."""

    def fitting(self, instance: "Instance") -> "Filler":
        """The filler to be used for an instance; a filler of the task's own sentences returns another than itself."""
        del instance
        return self

    def forbidden(self, instance: "Instance") -> frozenset[str]:
        """Words in lower case: sentences that hold one of them are left out of the instance's text."""
        del instance
        return frozenset()
