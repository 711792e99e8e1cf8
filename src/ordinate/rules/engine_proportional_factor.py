"""An engine that ignores the factor of proportional scaling."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._engines import LLAMA_CPP
from ordinate.rules._numbers import shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class EngineProportionalFactor(Rule):
    name = "engine_proportional_factor"
    engines = ("vllm", "sglang", *LLAMA_CPP)
    severity = "error"
    explanation = "The engine does not read `factor` with rope_type proportional."
    why = "Its class for Gemma 4 has no factor: all frequencies are too fast by it."
    remedy = "A factor of 1, which Gemma 4 is released with, or another engine."
    reports = ("apple/coreai-models#66", "vllm-project/vllm 0.33, Gemma4RotaryEmbedding", "sgl-project/sglang 0.5.23")
    example: ClassVar = {
        "model_type": "llama",
        "head_dim": 64,
        "rope_parameters": {
            "rope_type": "proportional",
            "rope_theta": 1e6,
            "partial_rotary_factor": 0.25,
            "factor": 8.0,
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("proportional"):
            factor = settings.number("factor")
            if factor is not None and factor > 1:
                yield self.finding(
                    subject,
                    settings.key("factor"),
                    f"factor is {shown(factor)}, and {subject.engine} runs 1: every frequency is "
                    f"{shown(factor)} times too fast",
                    '"factor": 1.0, or transformers or mlx',
                    factor=factor,
                )
