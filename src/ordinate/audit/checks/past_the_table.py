"""Positions past the end of a table or the window: an error, or the right thing, but nothing else."""

from collections.abc import Iterator
from typing import ClassVar

import torch

from ordinate.audit.base import Check, Outcome, Refusal, Where
from ordinate.audit.moved import TOKENS, misplaced, read_at, why_not
from ordinate.audit.subject import Subject

# Passes of a text that no position can shorten: multiplications and additions.
_AFFORDABLE = 1e13


class PastTheTable(Check):
    name = "past_the_table"
    title = "positions past the window"
    explanation = (
        "Where positions run past a learned table or the declared window, the model raises an error, or turns keys "
        "as its scheme says for those positions."
    )
    remedy = "Raise an error that names the table's length and the position asked for."
    kinds: ClassVar = (
        "clamped",
        "position_precision",
        "table_precision",
        "shift",
        "positions_ignored",
        "magnitude",
        "pairing",
        "table_lost",
        "unexplained",
    )
    reports: ClassVar = ("microsoft/onnxruntime#28205", "huggingface/transformers#530", "vllm-project/vllm#55910")
    cost = 0.2

    def applies(self, subject: Subject) -> str | None:
        if subject.window is None:
            return "the model declares no window"
        if _learned(subject):
            if not subject.takes_positions and not _affordable(subject, subject.window):
                return f"a text of more than {subject.window} tokens takes too long for a model of this size"
            return None
        return why_not(subject)

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        assert subject.window is not None  # noqa: S101 - `applies` has said so
        tokens = min(TOKENS, subject.length, subject.window)
        start = subject.window - tokens // 2
        case = f"{tokens} tokens at position {start}, window {subject.window}"
        yield (
            self._table(subject, case, tokens, start)
            if _learned(subject)
            else self._turns(subject, case, tokens, start)
        )

    def _table(self, subject: Subject, case: str, tokens: int, start: int) -> Outcome:
        assert subject.window is not None  # noqa: S101
        try:
            if subject.takes_positions:
                subject.whole(subject.ids[:1, :tokens], positions=start + torch.arange(tokens)[None])
            else:
                case = f"a text of {subject.window + 8} tokens, window {subject.window}"
                subject.whole(subject.other_ids(0, subject.window + 8)[None])
        except Refusal as refusal:
            return self.refused(case, str(refusal))
        evidence = f"{case}: positions past the {subject.window} of a learned table gave an output without an error"
        return self.failed(case, "clamped", Where(token=subject.window - start, part="embedding"), evidence)

    def _turns(self, subject: Subject, case: str, tokens: int, start: int) -> Outcome:
        before = read_at(subject, 0, tokens)
        try:
            after = read_at(subject, start, tokens)
        except Refusal as refusal:
            return self.refused(case, str(refusal))
        found = misplaced(subject, before, after, start)
        if found is None:
            return self.passed(case, f"{case}: keys past the window are turned as the scheme says", start=start)
        return self.failed(case, found.kind, found.where, f"{case}: {found.evidence}", radians=found.radians)


def _learned(subject: Subject) -> bool:
    return subject.spec is not None and any(group.scheme == "learned" for group in subject.spec.groups.values())


def _affordable(subject: Subject, tokens: int) -> bool:
    return 2.0 * tokens * sum(parameter.numel() for parameter in subject.model.parameters()) < _AFFORDABLE
