"""Rows of a batch against each row alone."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from ordinate.audit.base import ORDINARY, Check, Outcome
from ordinate.audit.runs import Run
from ordinate.audit.subject import Subject

_MOST = 128
_CHUNK, _STEPS = 8, 4


class BatchRows(Check):
    name = "batch_rows"
    title = "rows of a batch"
    explanation = "A row of a batch has the outputs that it has alone."
    remedy = "Hand positions of shape [batch, tokens] to every layer, and index tables by row."
    kinds: ClassVar = ("rows", *(kind for kind in ORDINARY if kind not in ("rows", "unexplained", "mask")))
    reports: ClassVar = ("turboderp/exllama#101", "linkedin/Liger-Kernel#477")
    cost = 7.0

    def applies(self, subject: Subject) -> str | None:
        del subject
        return None

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        of = subject.batch()
        yield self.compared(subject, f"{len(of)} rows in one batch", lambda: beside(subject, of))
        if not subject.call.keeps_cache:
            return
        end = min(_MOST, subject.length)
        sizes = [end - _CHUNK - _STEPS, _CHUNK, *[1] * _STEPS]
        yield self.compared(
            subject,
            f"{len(of)} rows in one batch, {_CHUNK} tokens and then {_STEPS} one by one on its cache",
            lambda: replace(subject.chunked(sizes, ids=subject.rows(of, end)), of=of),
            control=lambda: subject.chunked(sizes, ids=subject.ids[:, :end]),
        )


def beside(subject: Subject, of: tuple[int, ...], tokens: int | None = None) -> Run:
    """Rows of the subject in one batch, cut to so many tokens where the model is causal."""
    ids = subject.rows(of, tokens if subject.causal else None)
    run = subject.keeping(ids) if subject.call.decodes else subject.whole(ids)
    return replace(run, of=of, before=(0,) * len(of))
