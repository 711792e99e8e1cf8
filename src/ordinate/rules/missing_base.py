"""Scaled frequencies whose base nobody states."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from ordinate.rules._numbers import shown
from ordinate.rules._settings import Settings, base_of
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class MissingBase(Rule):
    name = "missing_base"
    explanation = "Frequencies are scaled, and the configuration does not state their base."
    why = "A setting that replaces the dict that held `rope_theta` loses it; the engine then takes a default."
    remedy = "Write `rope_theta` among the rotary settings, with the value that the model was trained with."
    reports = (
        *("NVIDIA-NeMo/Megatron-Bridge#3077", "vllm-project/vllm#58675", "lyogavin/airllm#368"),
        *("karpathy/llama2.c#356", "sgl-project/sglang#14745"),
    )
    example: ClassVar = {
        "model_type": "qwen3",
        "max_position_embeddings": 131072,
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.settings if subject.kind == "huggingface" else ():
            if settings.type in ("", "default", "axial") or base_of(subject.config, settings) is not None:
                continue
            group = subject.group(settings)
            key = settings.key("rope_theta")
            if group is None and "rope_theta" not in (subject.error or ""):
                continue
            if group is None:
                yield self.finding(
                    subject,
                    key,
                    f"{key} is missing, and so is any other base: an engine takes its own default, mostly 10000",
                    f'"rope_theta": the base that the model was trained with, {_place(subject, settings)}',
                    severity="error",
                )
                continue
            base, pairs = group.rope.base, group.rope.pairs
            if base == 10000 and settings.type in ("linear", "dynamic"):
                continue  # as in 2023, when every model and every engine had this base
            slowest = (pairs - 1) / pairs
            turns = (
                f"its slowest pair then turns {np.float64(base / 10000.0) ** slowest:.3g} times as fast"
                if base > 0
                else ""
            )
            yield self.finding(
                subject,
                key,
                f"{key} is missing, and so is any other base: transformers 5.24 takes {shown(base)}, the default of "
                f"{subject.model_type or 'none'}, other engines 10000" + (f"; {turns}" if base != 10000 else ""),
                f'"rope_theta": {shown(base)}, or the base that the model was trained with, '
                f"{_place(subject, settings)}",
                assumed=base,
            )


def _place(subject: Subject, settings: Settings) -> str:
    """Where the base belongs: beside the old `rope_scaling`, which older engines do not look into, else inside."""
    if settings.where != f"{subject.prefix}rope_scaling":
        return f"in {settings.where}"
    inside = f"in {subject.prefix.rstrip('.')}, " if subject.prefix else ""
    return f"{inside}beside {settings.where}"
