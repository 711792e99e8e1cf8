"""Fillers whose blocks are so many paragraphs of a text each."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from ordinate.validate.fillers._sentences import cut
from ordinate.validate.fillers.base import Filler


class Paragraphs(Filler):
    """A text in paragraphs; a block holds `size` of them, and a text may begin with any."""

    size: ClassVar[int]

    @abstractmethod
    def read_paragraphs(self) -> Sequence[str]:
        """All paragraphs in their order."""

    @cached_property
    def paragraphs(self) -> Sequence[str]:
        """All of them, read once."""
        return self.read_paragraphs()

    @property
    def blocks(self) -> int:
        """As many as hold all paragraphs."""
        return -(-len(self.paragraphs) // self.size)

    @property
    def starts(self) -> int:
        """Every block."""
        return self.blocks

    def sentences(self, block: int) -> list[str]:
        """The sentences of a block's paragraphs."""
        chosen = self.paragraphs[block * self.size : (block + 1) * self.size]
        return [sentence for paragraph in chosen for sentence in cut(paragraph)]
