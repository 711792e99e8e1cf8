"""A cache whose last tokens are taken off, and another text after it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from ordinate.audit.base import Check, Outcome
from ordinate.audit.runs import Run
from ordinate.audit.subject import Subject

_MOST = 192
_REMOVED = (1, 9, 24)
_TAIL = 24


class CropAndRewind(Check):
    name = "crop_and_rewind"
    title = "a cache cropped and gone on with"
    explanation = "After its last tokens are taken off, a cache goes on as if they had never been there."
    remedy = "Take positions from the tokens that remain, and leave nothing of what was cropped in any layer."
    kinds: ClassVar = ("crop",)
    reports: ClassVar = ("microsoft/onnxruntime-genai#2354", "ndif-team/nnsight#673")
    cost = 2.0

    def applies(self, subject: Subject) -> str | None:
        return None if subject.call.keeps_cache else "the model keeps no cache"

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        end = min(_MOST, subject.length)
        kept = max(end - _TAIL, end // 2)
        for removed in _REMOVED:
            if removed >= kept:
                continue

            def cropped(seed: int = 3, removed: int = removed) -> Run:
                return rewound(subject, kept, removed, end, seed)

            yield self.compared(
                subject,
                f"{removed} tokens taken off",
                cropped,
                control=lambda: rewound(subject, kept, 0, end, 3),
                unseen=lambda cropped=cropped: cropped(4),
            )


def rewound(subject: Subject, kept: int, removed: int, end: int, seed: int) -> Run:
    """A prefix of `kept` tokens, `removed` tokens of something else, those taken off again, and the ids after it.

    With none removed nothing is cropped: the same passes otherwise.
    """
    start = subject.chunked([1], ids=subject.ids[:, :1])
    subject.recording(start.cache)
    prefix = subject.chunked([kept - 1], ids=subject.ids[:, 1:kept], after=start)
    if removed:
        junk = subject.other_ids(seed, 2 * removed).reshape(2, -1)
        cache = subject.chunked([removed], ids=junk, after=prefix).cache
        subject.crop(cache, removed)
        prefix = replace(prefix, cache=cache)
    return subject.chunked([end - kept], ids=subject.ids[:, kept:end], after=prefix)
