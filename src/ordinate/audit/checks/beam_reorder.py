"""A cache whose rows change places, as beam search does, against each row in one pass."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import torch

from ordinate.audit.base import Check, Outcome
from ordinate.audit.runs import Run
from ordinate.audit.subject import Subject

_MOST = 128
_TAIL = 12


class BeamReorder(Check):
    name = "beam_reorder"
    title = "rows of a cache reordered"
    explanation = "After the rows of a cache change places, each goes on as the row that it came from."
    remedy = "Reorder keys, values and positions of every layer by the same indices."
    kinds: ClassVar = ("reorder",)
    reports: ClassVar = ("scouzi1966/maclocal-api#92", "turboderp/exllama#101")
    cost = 1.0

    def applies(self, subject: Subject) -> str | None:
        return None if subject.call.keeps_cache else "the model keeps no cache"

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        end = min(_MOST, subject.length)
        start = max(end - _TAIL, end // 2)
        before = subject.batch(end)
        # Neighbours change places, so that every beam goes on as another row.
        order = [place + 1 if place % 2 == 0 and place + 1 < len(before) else place - 1 for place in range(len(before))]
        after = tuple(before[place] for place in order)

        def reordered() -> Run:
            prefix = subject.chunked([start], ids=subject.rows(before, start))
            subject.on_cache(prefix.cache, "reorder_cache", torch.tensor(order))
            tail = subject.rows(after, end)[:, start:]
            return replace(subject.chunked([end - start - 4, *[1] * 4], ids=tail, after=prefix), of=after)

        def control() -> Run:
            sizes = [start, end - start - 4, *[1] * 4]
            return replace(subject.chunked(sizes, ids=subject.rows(before, end)), of=before)

        yield self.compared(subject, f"{len(before)} beams reordered", reordered, control=control)
