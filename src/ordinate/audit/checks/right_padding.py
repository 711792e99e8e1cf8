"""Rows padded on the right, as encoders and trainers pad, against each row alone."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.audit.base import Check, Outcome
from ordinate.audit.checks.batch_rows import beside
from ordinate.audit.checks.left_padding import padded_lengths
from ordinate.audit.runs import Run
from ordinate.audit.subject import Subject

_MOST = 192


class RightPadding(Check):
    name = "right_padding"
    title = "rows padded on the right"
    explanation = "A row that is padded on the right has the outputs of the row alone."
    remedy = "Hide padding from every query, and let it move no position."
    kinds: ClassVar = ("padding", "rows", "query_position")
    reports: ClassVar = ("huggingface/transformers#29419", "TransformerLensOrg/TransformerLens#1610")
    cost = 1.0

    def applies(self, subject: Subject) -> str | None:
        del subject
        return None

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        width = min(_MOST, subject.length)
        of = subject.batch(width)
        lengths = padded_lengths(width, len(of))
        against = subject.rows_alone(lengths)
        other = 1 if subject.padding_id != 1 else 2

        def padded(filling: int | None = None) -> Run:
            return subject.padded(lengths, "right", given=False, filling=filling)

        case = f"rows of {', '.join(map(str, lengths))} tokens"
        # In a model that takes padding by its id, other ids are no padding.
        unseen = (lambda: padded(other)) if subject.call.decodes else None
        yield self.compared(subject, case, padded, against, control=lambda: beside(subject, of, width), unseen=unseen)
