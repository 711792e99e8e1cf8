"""Jane Austen's six novels, their paragraphs shuffled across the books."""

import hashlib
from functools import cached_property

from ordinate.texts import names, read
from ordinate.validate.fillers._paragraphs import Paragraphs
from ordinate.validate.fillers._sentences import paragraphs
from ordinate.validate.streams import stream


class Prose(Paragraphs):
    """Paragraphs of the shipped novels in one fixed random order, so that no story goes on beyond a paragraph.

    About 0.9 million tokens of a usual tokenizer; every model has read them, so they tell nothing that a model could
    not have known, and the facts that are asked for are fresh.
    """

    name = "prose"
    size = 8

    def read_paragraphs(self) -> list[str]:
        """Of all six, shuffled."""
        found = [paragraph for name in names() for paragraph in paragraphs(read(name).body)]
        return [found[place] for place in stream(0, "prose", 0).permutation(len(found))]

    @property
    def identity(self) -> str:
        """The name, and a sha256 of the paragraphs in their order."""
        return f"prose:{self._sha256}"

    @cached_property
    def _sha256(self) -> str:
        return hashlib.sha256("\n".join(self.paragraphs).encode()).hexdigest()
