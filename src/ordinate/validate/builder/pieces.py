"""Pieces of a text with their tokens, and whether two of them keep their tokens side by side."""

import re
from collections.abc import Set
from functools import cached_property

from ordinate.validate.fillers._vocabulary import words
from ordinate.validate.tokenizers import Tokenizer
from ordinate.validate.tokenizers.base import ANCHOR

REMEMBERED = 200_000  # seams
LONG = 80  # characters: longer words are a piece's whole text
_LAST_WORDS = re.compile(r"\s\S+\s+\S+$")


class Piece:
    """A part of a text that is placed whole: a sentence with the space before it, the beginning, the end.

    Args:
        text: as it stands in the whole
        ids: of it, where it stands
        begun: for the piece that begins a text: what is encoded for it, the template's words included
    """

    def __init__(self, text: str, ids: tuple[int, ...], begun: str | None = None) -> None:
        self.text = text
        self.ids = ids
        self.begun = begun
        self.count = len(ids)
        parts = text.split(" ", 3)
        self.head = " ".join(parts[:3]) if len(parts) > 3 else text
        """Its first two words, with the space before them."""
        words = _LAST_WORDS.search(text[-LONG:])
        self.tail = words[0] if words else text
        """Its last two words, with the space before them."""

    @cached_property
    def words(self) -> Set[str]:
        """Its words in lower case."""
        return words(self.text)


class Seams:
    """Which pieces keep their tokens side by side.

    A seam holds where the last two words of the one and the first two of the other, encoded together, give the last
    and first tokens of the two; where that is not so, both are encoded whole, and this decides. What such words encode
    to is kept, since the same ones meet again and again.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._start = len(tokenizer.encode(ANCHOR))
        self._near: dict[tuple[str, str], tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self._tails: dict[str, int] = {}
        self._whole: dict[tuple[str, str], bool] = {}

    def piece(self, sentence: str) -> Piece | None:
        """A sentence after a space as a piece; None where it holds a special token and can stand in no text."""
        text = " " + sentence
        ids = self.continued(text)
        return None if self._tokenizer.specials.intersection(ids) else Piece(text, ids)

    def continued(self, text: str) -> tuple[int, ...]:
        """The ids of a text that continues another."""
        return tuple(self._tokenizer.encode(ANCHOR + text)[self._start :])

    def hold(self, before: Piece, after: Piece) -> bool:
        """Whether the two keep their tokens side by side."""
        if len(self._near) + len(self._whole) > REMEMBERED:
            self._near.clear()
            self._tails.clear()
            self._whole.clear()
        key = (before.tail, after.head)
        near = self._near.get(key)
        if near is None:
            near = self._near[key] = self._joined(*key)
        left, right = near
        if left and right and before.ids[-len(left) :] == left and after.ids[: len(right)] == right:
            return True
        if before.begun is not None:
            whole = tuple(self._tokenizer.encode(before.begun + after.text))
            return whole == (before.ids + after.ids)[-len(whole) :] and len(whole) > after.count
        both = (before.text, after.text)
        known = self._whole.get(both)
        if known is None:
            known = self._whole[both] = self.continued(before.text + after.text) == before.ids + after.ids
        return known

    def _joined(self, tail: str, head: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        count = self._tails.get(tail)
        if count is None:
            count = self._tails[tail] = len(self.continued(tail))
        ids = self.continued(tail + head)
        return ids[:count], ids[count:]
