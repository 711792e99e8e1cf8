"""Neighbouring tokens closer than any model was shown to read."""

import math
from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule

FARTHEST = 32


class NeighboursSqueezed(Rule):
    name = "neighbours_squeezed"
    explanation = "Linear scaling turns even the fastest pair by less than 1/32 rad a token."
    why = (
        "Position interpolation was shown up to a factor of 32; past it neighbours differ by less than "
        "bfloat16 resolves."
    )
    remedy = "Use yarn or llama3, which keep the fast pairs, or a smaller factor."
    reports = ("ggml-org/llama.cpp#2402", "hiyouga/LlamaFactory#1298")
    example: ClassVar = {
        "model_type": "llama",
        "max_position_embeddings": 2048,
        "rope_scaling": {"rope_type": "linear", "factor": 64.0, "rope_theta": 10000.0},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("linear"):
            factor = settings.number("factor")
            if factor is None or factor <= FARTHEST:
                continue
            yield self.finding(
                subject,
                settings.key("factor"),
                f"with {settings.key('factor')} {shown(factor)} the fastest pair turns {1 / factor:.3g} rad a "
                "token, where it "
                f"was trained at 1; its cosine changes by {1 - math.cos(1 / factor):.2g} between neighbours, "
                "and bfloat16 "
                "has steps of 0.0039 there",
                f'"rope_type": "yarn", "factor": {shown(factor)}, or a factor of at most {FARTHEST}',
                factor=factor,
                step=1 / factor,
            )
