"""LongRoPE lists in each other's place."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.longrope import LongRope


class LongropeSwapped(Rule):
    name = "longrope_swapped"
    explanation = "`long_factor` divides less than `short_factor` does."
    why = "Past the trained length pairs must turn slower, not faster; the lists are in each other's place."
    remedy = "Swap the lists."
    reports = ("vllm-project/vllm#27414", "vllm-project/vllm#19489")
    example: ClassVar = {
        "model_type": "llama",
        "head_dim": 8,
        "max_position_embeddings": 131072,
        "rope_scaling": {
            "rope_type": "longrope",
            "rope_theta": 10000.0,
            "original_max_position_embeddings": 4096,
            "short_factor": [2.0, 4.0, 8.0, 16.0],
            "long_factor": [1.0, 1.0, 1.0, 1.0],
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("longrope"):
            group = subject.group(settings)
            if group is None or not isinstance(group.stretch, LongRope):
                continue
            short, long = (float(np.mean(np.log(v))) for v in (group.stretch.short_factor, group.stretch.long_factor))
            if long < short:
                yield self.finding(
                    subject,
                    settings.key("long_factor"),
                    f"long_factor divides by {np.exp(long):.4g} in the geometric mean and short_factor by "
                    f"{np.exp(short):.4g}: past the trained length pairs would turn faster",
                    "short_factor and long_factor in each other's place",
                    short=np.exp(short),
                    long=np.exp(long),
                )
