"""The reader that is right so and so often."""

import hashlib
from collections.abc import Sequence

from ordinate.errors import InputError, finite, non_negative_integer
from ordinate.validate.readers.base import Decoder
from ordinate.validate.readers.forms.base import Page
from ordinate.validate.readers.oracle import Oracle


class Noisy(Oracle):
    """Right with a fixed chance, else it says another of the possible answers, or nothing where there is none.

    Which it is follows from the seed and the ids alone, so that the same prompt always gets the same answer.

    Args:
        right: the chance, in [0, 1]
        seed: of the draws
    """

    name = "noisy"

    def __init__(self, right: float, seed: int = 0) -> None:
        super().__init__()
        self._slip = _Slip()
        self.right, self.seed = finite("right", right), non_negative_integer("seed", seed)
        if not 0 <= self.right <= 1:
            raise InputError(f"right must be in [0, 1], got {right}")

    def answer(self, ids: Sequence[int], tokenizer: Decoder) -> str:
        number = hashlib.sha256(f"{self.seed}|{' '.join(map(str, ids))}".encode()).digest()[:8]
        slips = int.from_bytes(number, "little") / 2**64 >= self.right
        return self._slip.answer(ids, tokenizer) if slips else super().answer(ids, tokenizer)


class _Slip(Oracle):
    """Says a possible answer that is wrong."""

    def choose(self, page: Page) -> str:
        answer = set(page.solve().split(", "))
        possible = [*page.form.options, *(candidate for _, candidate in page.candidates())]
        return next((candidate for candidate in possible if set(candidate.split(", ")) != answer), "")
