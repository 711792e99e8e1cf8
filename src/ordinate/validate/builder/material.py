"""A filler in a tokenizer's tokens, encoded as far as it is needed."""

from ordinate.errors import InputError
from ordinate.validate.builder.closing import Pool
from ordinate.validate.builder.pieces import Piece, Seams
from ordinate.validate.fillers.base import CLAUSES, Filler

POOL = 1200  # sentences that gaps are closed with


class Material:
    """The pieces of a filler, block by block, and the pool that closes gaps.

    Args:
        filler: the sentences
        seams: of the tokenizer
    """

    def __init__(self, filler: Filler, seams: Seams) -> None:
        self.filler = filler
        self.dropped = 0
        """Sentences seen so far that hold a special token, and are left out."""
        self._seams = seams
        self._blocks: dict[int, list[Piece]] = {}
        self._same: dict[str, Piece | None] = {}
        pool: list[Piece] = []
        blocks = range(32 if filler.blocks is None else filler.blocks)
        for block in blocks:
            pool += self.block(block)
            if len(pool) >= POOL:
                break
        also = [piece for piece in map(seams.piece, CLAUSES) if piece is not None]
        self.pool = Pool(list(dict.fromkeys(pool)), also)

    def block(self, number: int) -> list[Piece]:
        """The pieces of a block.

        Raises:
            InputError: the filler ends before it
        """
        found = self._blocks.get(number)
        if found is None:
            if self.filler.blocks is not None and number >= self.filler.blocks:
                raise InputError(f"the filler {self.filler.name!r} is too short: it ends after {number} blocks")
            found = []
            for sentence in self.filler.sentences(number):
                piece = self._piece(sentence)
                if piece is None:
                    self.dropped += 1
                else:
                    found.append(piece)
            self._blocks[number] = found
        return found

    def _piece(self, sentence: str) -> Piece | None:
        # One piece for a sentence that comes again, so that "is it used" is asked of the sentence.
        if sentence not in self._same:
            self._same[sentence] = self._seams.piece(sentence)
        return self._same[sentence]
