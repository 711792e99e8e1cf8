"""Filling a gap with exactly so many tokens of sentences, the seams checked."""

from collections.abc import Iterator, Set
from itertools import pairwise

import numpy as np

from ordinate.errors import InputError
from ordinate.validate.builder.material import Material
from ordinate.validate.builder.pieces import Piece, Seams

TRIES = 24  # drawings of closing sentences, before the text is made one sentence shorter
PASSED = 1000  # sentences passed over, before it is said that none fits
FEW = 4  # the same, before the sentence in front is given up instead
DRAWS = 512  # random numbers drawn at a time


class Filling:
    """What has been taken from a filler for one prompt: sentences in order from a block of its own, and closing ones.

    Args:
        material: the filler's pieces
        seams: of the tokenizer
        forbidden: words that no sentence may hold
        generator: the instance's own
    """

    def __init__(self, material: Material, seams: Seams, forbidden: Set[str], generator: np.random.Generator) -> None:
        self._material, self._seams, self._forbidden = material, seams, forbidden
        self._chance = _Chance(generator)
        self._once = not material.filler.repeats
        self._used: set[Piece] = set()
        self._order = self._pieces(self._chance(material.filler.starts))
        self._next: Piece | None = None

    def fill(self, before: Piece, gap: int, after: Piece) -> list[Piece] | None:
        """Pieces of `gap` tokens in all that keep their tokens side by side, and beside `before` and `after`.

        Returns:
            None where no sentences do: another gap is to be tried.

        Raises:
            InputError: the filler is at its end
        """
        if gap == 0:
            return [] if self._seams.hold(before, after) else None
        free = self._material.pool.free
        chosen, left, last = [], gap, before
        while free is not None and left > free:
            piece = self._take(last, PASSED if last is before else FEW)
            if piece is None:  # it is `last` that changes beside others
                if not chosen:
                    return None
                left += chosen.pop().count
                last = chosen[-1] if chosen else before
                continue
            if left - piece.count < free:
                self._next = piece  # it comes behind the next record
                break
            chosen.append(piece)
            last = piece
            left -= piece.count
        while True:
            closing = self._close(last, left, after)
            if closing is not None:
                return chosen + closing
            if not chosen:
                return None
            left += chosen.pop().count
            last = chosen[-1] if chosen else before

    def _close(self, before: Piece, left: int, after: Piece) -> list[Piece] | None:
        for _ in range(TRIES):
            closing = self._material.pool.draw(left, self._fresh, self._chance, once=self._once)
            if closing is None:
                return None
            if all(self._seams.hold(one, other) for one, other in pairwise([before, *closing, after])):
                if self._once:
                    self._used.update(closing)
                return closing
        return None

    def _fresh(self, piece: Piece) -> bool:
        return piece not in self._used and (not self._forbidden or self._forbidden.isdisjoint(piece.words))

    def _take(self, before: Piece, tries: int) -> Piece | None:
        """The filler's next sentence that stands well behind `before`; None where so many in a row do not."""
        piece, self._next = self._next, None
        if piece is not None and self._seams.hold(before, piece):
            return piece
        following = (next(self._order) for _ in range(tries))
        return next((piece for piece in following if self._seams.hold(before, piece)), None)

    def _pieces(self, block: int) -> Iterator[Piece]:
        """From a block to the filler's end, and where it has one, from its beginning up to that block."""
        filler = self._material.filler
        first, idle = block, 0
        while True:
            idle += 1
            for piece in self._material.block(block):
                if self._fresh(piece):
                    if self._once:
                        self._used.add(piece)
                    idle = 0
                    yield piece
            if idle > PASSED:
                raise InputError(f"every sentence of the filler {filler.name!r} holds a word of the instance")
            block += 1
            if filler.blocks is not None:
                block %= filler.blocks
                if block == first:
                    others = "generated, records and noise never end"
                    raise InputError(f"the filler {filler.name!r} is too short for this length; {others}")


class _Chance:
    """Random numbers below others, from numbers drawn many at a time."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._numbers: list[int] = []

    def __call__(self, below: int) -> int:
        if not self._numbers:
            self._numbers = self._generator.integers(0, 2**62, DRAWS).tolist()
        return self._numbers.pop() % below
