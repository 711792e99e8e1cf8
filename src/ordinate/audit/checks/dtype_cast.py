"""A model that was cast to bfloat16 and back, its parameters exact: what else did the cast round?"""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import torch

from ordinate.audit.base import Check, Outcome
from ordinate.audit.copies import cast_and_back, too_large
from ordinate.audit.subject import Subject


class DtypeCast(Check):
    name = "dtype_cast"
    title = "cast to bfloat16 and back"
    explanation = "A cast of the module rounds parameters, which can be loaded again, and no frequencies or tables."
    remedy = "Keep frequencies out of reach of module-wide casts, or compute them from the configuration when used."
    kinds: ClassVar = ("table_cast",)
    reports: ClassVar = ("NVIDIA/Megatron-LM#744", "EleutherAI/gpt-neox#1016", "NovaSky-AI/SkyRL#1725")
    cost = 1.0

    def applies(self, subject: Subject) -> str | None:
        return too_large(subject)

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        cast = cast_and_back(subject, torch.bfloat16)
        case = "cast to bfloat16 and back"
        outcome = self.compared(subject, case, cast.alone)
        changed = _changed(subject.model, cast.model)
        evidence = f"{outcome.evidence}; rounded: {', '.join(changed)}" if changed and outcome.evidence else ""
        failed = outcome.status == "failed"
        yield replace(outcome, kind="table_cast", evidence=evidence or outcome.evidence) if failed else outcome


def _changed(before: torch.nn.Module, after: torch.nn.Module) -> list[str]:
    now = dict(after.named_buffers())
    found = [name for name, value in before.named_buffers() if name in now and not torch.equal(value, now[name])]
    return found[:3]
