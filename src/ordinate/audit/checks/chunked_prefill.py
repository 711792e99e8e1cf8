"""A text in chunks on one cache against the text in one pass."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.audit.base import ORDINARY, Check, Outcome
from ordinate.audit.subject import Subject

SIZES = (7, 64, 511, 512, 513)
# Chunks of one size leave a short one for the cache of a long one: this brings a long one to a short cache.
_START = 9


class ChunkedPrefill(Check):
    name = "chunked_prefill"
    title = "chunks against one pass"
    explanation = "A text that is read in chunks on a cache has the logits of the text read in one pass."
    remedy = "Let every chunk's positions go on from the tokens in the cache, in q, k and mask alike."
    kinds: ClassVar = ORDINARY
    reports: ClassVar = ("huggingface/transformers#43082", "Blaizzy/mlx-vlm#1621")
    cost = 5.0

    def applies(self, subject: Subject) -> str | None:
        return None if subject.call.keeps_cache else "the model keeps no cache"

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        for size in SIZES:
            if size < subject.length:
                yield self.compared(subject, f"chunks of {size}", lambda size=size: subject.chunked(size))
        rest = subject.length - _START
        if rest > _START:
            case = f"{_START} tokens and the other {rest} at once"
            yield self.compared(subject, case, lambda: subject.chunked([_START, rest]))
