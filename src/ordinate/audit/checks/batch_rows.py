"""Rows of a batch against each row alone."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from ordinate.audit.base import Check, Outcome
from ordinate.audit.runs import Run
from ordinate.audit.subject import Subject

_ROWS = (0, 1, 0)


class BatchRows(Check):
    name = "batch_rows"
    title = "rows of a batch"
    explanation = "A row of a batch has the outputs that it has alone."
    remedy = "Hand positions of shape [batch, tokens] to every layer, and index tables by row."
    kinds: ClassVar = ("rows", "rotation_count", "magnitude", "pairing", "length_switch")
    reports: ClassVar = ("turboderp/exllama#101", "linkedin/Liger-Kernel#477")
    cost = 3.0

    def applies(self, subject: Subject) -> str | None:
        del subject
        return None

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        yield self.compared(subject, f"{len(_ROWS)} rows in one batch", lambda: beside(subject, _ROWS))


def beside(subject: Subject, of: tuple[int, ...], tokens: int | None = None) -> Run:
    """Rows of the subject in one batch, cut to so many tokens where the model is causal."""
    ids = subject.rows(of, tokens if subject.causal else None)
    run = subject.keeping(ids) if subject.call.decodes else subject.whole(ids)
    return replace(run, of=of, before=(0,) * len(of))
