"""Angles under autocast."""

from collections.abc import Iterator
from typing import ClassVar

import torch

from ordinate.audit.base import Check, Outcome
from ordinate.audit.moved import TOKENS, misplaced, read_at, why_not
from ordinate.audit.subject import Subject
from ordinate.describe.words import figures


class Autocast(Check):
    name = "autocast"
    title = "angles under autocast to bfloat16"
    explanation = "Under autocast q and k are rounded, and the angles that turn them are not."
    remedy = "Compute angles with autocast disabled, in float32 at least."
    kinds: ClassVar = ("table_precision", "position_precision", "clamped", "shift", "positions_ignored", "magnitude")
    reports: ClassVar = ("huggingface/transformers#29496", "NVIDIA/TransformerEngine#1245")
    cost = 0.2

    def applies(self, subject: Subject) -> str | None:
        if subject.dtype != torch.float32:
            return f"autocast changes nothing in a model of {str(subject.dtype).removeprefix('torch.')}"
        if subject.window is None:
            return "the model declares no window"
        return why_not(subject)

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        assert subject.window is not None  # noqa: S101 - `applies` has said so
        tokens = min(TOKENS, subject.length, subject.window // 2)
        start = subject.window - tokens
        case = f"{tokens} tokens at position {start}"
        with torch.autocast(subject.model.device.type, torch.bfloat16):
            before, after = read_at(subject, 0, tokens), read_at(subject, start, tokens)
        found = misplaced(subject, before, after, start, epsilon=torch.finfo(torch.bfloat16).eps)
        if found is None:
            yield self.passed(case, f"{case}: keys are turned by the same angles as without autocast", start=start)
        else:
            evidence = f"{case}: {found.evidence}; pairs are off by up to {figures(found.radians, 2)} rad"
            yield self.failed(case, found.kind, found.where, evidence, radians=found.radians)
