"""A cached prefix that another request goes on with, at every length around the edges of blocks."""

from collections.abc import Iterator
from copy import deepcopy
from typing import ClassVar

from ordinate.audit.base import ORDINARY, Check, Outcome
from ordinate.audit.runs import Run
from ordinate.audit.subject import Subject

_BLOCKS = (16, 32, 64, 128, 256)
_TAIL = 16


class PrefixReuse(Check):
    name = "prefix_reuse"
    title = "a cached prefix used again"
    explanation = "A text whose beginning comes from another request's cache has the logits of the text in one pass."
    remedy = "Go on at the number of tokens that were reused, whether or not it fills its blocks."
    kinds: ClassVar = ORDINARY
    reports: ClassVar = ("waybarrios/vllm-mlx#311", "vllm-project/vllm-metal#144")
    cost = 2.0

    def applies(self, subject: Subject) -> str | None:
        return None if subject.call.keeps_cache else "the model keeps no cache"

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        edges = [b + d for b in _BLOCKS for d in (-1, 0, 1) if b + d + _TAIL <= subject.length]
        prefix: Run | None = None
        pieces: list[int] = []
        for edge in edges or [subject.length // 2]:
            past = 0 if prefix is None else prefix.tokens
            prefix = subject.chunked([edge - past], ids=subject.ids[:, past:edge], after=prefix)
            kept = deepcopy(prefix.cache)
            pieces.append(edge - past)
            end = min(edge + _TAIL, subject.length)

            def reused(edge: int = edge, end: int = end, prefix: Run = prefix, kept: object = kept) -> Run:
                # Someone else goes on first, and must leave nothing behind.
                subject.chunked([4], ids=subject.ids[:, :4], after=prefix, cache=deepcopy(kept))
                return subject.chunked([end - edge], ids=subject.ids[:, edge:end], after=prefix, cache=kept)

            def control(edge: int = edge, end: int = end) -> Run:
                return subject.chunked([*pieces, end - edge], ids=subject.ids[:, :end])

            yield self.compared(subject, f"a prefix of {edge} tokens", reused, control=control)
