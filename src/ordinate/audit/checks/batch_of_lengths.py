"""A short row in one batch with a long one, each against itself alone."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import torch

from ordinate.audit.base import Check, Outcome
from ordinate.audit.runs import Run, stacked
from ordinate.audit.subject import SHORTEST, Subject

_BEYOND, _DECODED = 8, 8
_AFFORDABLE = 2e12


class BatchOfLengths(Check):
    name = "batch_of_lengths"
    title = "a short row beside a long one"
    explanation = "What is computed for a row does not depend on the length of the rows beside it, nor on their order."
    remedy = "Take positions, and the length that frequencies depend on, from each row and not from the batch."
    kinds: ClassVar = ("rows", "batch_length", "padding", "query_position")
    reports: ClassVar = ("vllm-project/vllm#27414", "unslothai/unsloth#3699", "scouzi1966/maclocal-api#92")
    cost = 3.0
    late = True

    def applies(self, subject: Subject) -> str | None:
        if not subject.causal:
            return "padding of a model without a cache is a matter for other checks"
        size = sum(parameter.numel() for parameter in subject.model.parameters())
        if 2.0 * size * ((subject.crossing or 0) + _BEYOND) > _AFFORDABLE:
            return f"a text of {(subject.crossing or 0) + _BEYOND} tokens takes too long for a model of this size"
        if subject.length < 2 * SHORTEST:
            return f"half of a text of {subject.length} tokens is too short to be a row of its own"
        return None

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        crossing = subject.crossing
        long = subject.length if crossing is None else crossing + _BEYOND
        short = min(subject.length, crossing or subject.length) // 2
        if crossing is None:
            for lengths in ((long, short), (short, long)):
                for decode in (0, _DECODED) if subject.call.keeps_cache else (0,):
                    outcome = self.compared(
                        subject,
                        _case(lengths, decode),
                        lambda lengths=lengths, decode=decode: subject.padded(lengths, "left", decode=decode),
                        control=(lambda: _decoded(subject)) if decode else None,
                    )
                    yield self._named(subject, outcome, short, long)
            return
        source = Subject(subject.model, subject.spec, length=short, name=subject.name)
        # Longer than a subject's own text, which ends at the switch.
        source.ids = subject.other_ids(0, 2 * long).reshape(2, long)
        alone = stacked([source.whole(row[None, :short]) for row in source.ids], "one pass")
        for lengths in ((long, short), (short, long)):
            for decode in (0, _DECODED) if subject.call.keeps_cache else (0,):

                def beside(lengths=lengths, decode=decode) -> Run:
                    # The long row crosses the switch: that is a matter for `crossing`.
                    return source.padded(lengths, "left", decode=decode).row(lengths.index(short)).first(short)

                outcome = self.compared(subject, _case(lengths, decode), beside, alone)
                yield replace(outcome, kind="batch_length") if outcome.status == "failed" else outcome

    def _named(self, subject: Subject, outcome: Outcome, short: int, long: int) -> Outcome:
        """Padding that is counted, unless the same row with the same padding is right alone: then it is the batch."""
        if outcome.kind not in ("padding", "rows"):
            return outcome
        where = outcome.where.row if outcome.where is not None else 0
        alone = self.compared(
            subject,
            "",
            lambda: _padded_alone(subject, where or 0, short, long),
            subject.reference.row(where or 0),
        )
        if alone.status == "passed":
            evidence = f"{outcome.evidence}; with the same padding and alone the row is right"
            return replace(outcome, kind="rows", evidence=evidence)
        return replace(outcome, kind="padding")


def _decoded(subject: Subject) -> Run:
    return subject.chunked([subject.length - _DECODED, *[1] * _DECODED])


def _padded_alone(subject: Subject, row: int, tokens: int, width: int) -> Run:
    """One row, padded on the left to a width, its last tokens decoded."""
    padding = width - tokens
    mask = torch.ones(1, width, dtype=torch.int64)
    mask[:, :padding] = 0
    ids = torch.cat([torch.full((1, padding), subject.padding_id), subject.ids[row : row + 1, :tokens]], 1)
    positions = (mask.cumsum(-1) - 1).clamp(min=0) if subject.takes_positions else None
    sizes = [width - _DECODED, *[1] * _DECODED]
    run = subject.chunked(sizes, ids=ids, positions=positions, mask=mask)
    starts = (run.starts[:, padding:] - padding).clamp(min=0)
    return Run("padded alone", run.logits[:, padding:], run.there[:, padding:], starts, before=(padding,))


def _case(lengths: tuple[int, int], decode: int) -> str:
    return f"rows of {lengths[0]} and {lengths[1]} tokens" + (f", the last {decode} decoded" if decode else "")
