"""Keys at the end of the window against float64."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.audit.base import Check, Outcome
from ordinate.audit.moved import TOKENS, misplaced, read_at, why_not
from ordinate.audit.subject import Subject
from ordinate.describe.words import figures


class TableError(Check):
    name = "table_error"
    title = "angles at the end of the window"
    explanation = (
        "A text at the end of the declared window has the keys that it has from 0 on, turned by angles of float64, "
        "within what float32 angles and the model's dtype can hold."
    )
    remedy = "Compute angles in float32 at least from integer positions, and keep frequencies and tables in float32."
    kinds: ClassVar = (
        "table_precision",
        "position_precision",
        "clamped",
        "positions_ignored",
        "shift",
        "magnitude",
        "pairing",
        "table_lost",
        "unexplained",
    )
    reports: ClassVar = ("huggingface/transformers#29496", "Modalities/modalities#462", "huggingface/candle#3520")
    cost = 0.2

    def applies(self, subject: Subject) -> str | None:
        if subject.window is None:
            return "the model declares no window"
        return why_not(subject)

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        assert subject.window is not None  # noqa: S101 - `applies` has said so
        tokens = min(TOKENS, subject.length, subject.window // 2)
        start = subject.window - tokens
        case = f"{tokens} tokens at position {start}"
        before, after = read_at(subject, 0, tokens), read_at(subject, start, tokens)
        found = misplaced(subject, before, after, start)
        if found is None:
            yield self.passed(case, f"{case}: keys are turned as in float64", start=start)
        else:
            evidence = f"{case}: {found.evidence}; pairs are off by up to {figures(found.radians, 2)} rad"
            yield self.failed(case, found.kind, found.where, evidence, start=start, radians=found.radians)
