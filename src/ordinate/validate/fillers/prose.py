"""Jane Austen's six novels, their paragraphs shuffled across the books."""

import hashlib
from functools import cached_property

from ordinate.texts import names, read
from ordinate.validate.fillers._sentences import cut, paragraphs
from ordinate.validate.fillers.base import Filler
from ordinate.validate.streams import stream

PARAGRAPHS = 8  # in a block


class Prose(Filler):
    """Paragraphs of the shipped novels in one fixed random order, so that no story goes on beyond a paragraph.

    About 0.9 million tokens of a usual tokenizer; every model has read them, so they tell nothing that a model could
    not have known, and the facts that are asked for are fresh.
    """

    name = "prose"

    @cached_property
    def _paragraphs(self) -> list[str]:
        found = [paragraph for name in names() for paragraph in paragraphs(read(name).body)]
        return [found[place] for place in stream(0, "prose", 0).permutation(len(found))]

    @property
    def blocks(self) -> int:
        """All paragraphs, eight to a block."""
        return -(-len(self._paragraphs) // PARAGRAPHS)

    @property
    def starts(self) -> int:
        """Every block."""
        return self.blocks

    @property
    def identity(self) -> str:
        """The name, and a sha256 of the paragraphs in their order."""
        return f"prose:{self._sha256}"

    @cached_property
    def _sha256(self) -> str:
        return hashlib.sha256("\n".join(self._paragraphs).encode()).hexdigest()

    def sentences(self, block: int) -> list[str]:
        """The sentences of eight paragraphs."""
        chosen = self._paragraphs[block * PARAGRAPHS : (block + 1) * PARAGRAPHS]
        return [sentence for paragraph in chosen for sentence in cut(paragraph)]
