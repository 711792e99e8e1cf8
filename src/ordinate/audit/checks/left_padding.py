"""Rows padded on the left, as a batch is generated, against each row alone."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from ordinate.audit.base import Check, Outcome
from ordinate.audit.runs import Run
from ordinate.audit.subject import Subject

_MOST = 192
_STEPS = 6
# Every row is padded, so that no row's positions are its slots.
_FURTHER = 5


class LeftPadding(Check):
    name = "left_padding"
    title = "rows padded on the left"
    explanation = "A row that is padded on the left has the logits of the row alone, at every step of decoding too."
    remedy = "Count positions from the attention mask, and hide padding from every query in every layer."
    kinds: ClassVar = ("padding", "rows", "query_position")
    reports: ClassVar = (
        "unslothai/unsloth#3699",
        "huggingface/transformers#22161",
        "ndif-team/nnsight#673",
        "huggingface/transformers#26380",
    )
    cost = 2.0

    def applies(self, subject: Subject) -> str | None:
        return None if subject.call.decodes else "encoders are padded on the right"

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        width = min(_MOST, subject.length)
        of = subject.batch(width + _FURTHER)
        lengths = padded_lengths(width, len(of))
        against = subject.rows_alone(lengths)
        other = 1 if subject.padding_id != 1 else 2
        for steps in (0, _STEPS) if subject.call.keeps_cache else (0,):

            def padded(filling: int | None = None, steps: int = steps) -> Run:
                return subject.padded(lengths, "left", decode=steps, filling=filling, further=_FURTHER)

            def control(steps: int = steps) -> Run:
                sizes = [width - steps, *[1] * steps]
                return replace(subject.chunked(sizes, ids=subject.rows(of, width)), of=of)

            case = f"rows of {', '.join(map(str, lengths))} tokens" + (f", {steps} of them one by one" * bool(steps))
            yield self.compared(
                subject, case, padded, against, control=control, unseen=lambda padded=padded: padded(other)
            )


def padded_lengths(width: int, rows: int) -> tuple[int, ...]:
    """Tokens of the rows of a padded batch, of which the second is the longest."""
    return (2 * width // 3, width, width // 3, width // 2, 3 * width // 4)[:rows]
