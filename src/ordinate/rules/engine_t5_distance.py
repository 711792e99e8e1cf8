"""A T5 distance that llama.cpp does not read."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._engines import LLAMA_CPP
from ordinate.rules._numbers import shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class EngineT5Distance(Rule):
    name = "engine_t5_distance"
    engines = LLAMA_CPP
    severity = "error"
    explanation = "llama.cpp has 128 for T5's maximum distance, whatever the file says."
    why = "Distances fall into other buckets than trained."
    remedy = "Another engine for this model."
    reports = ("ggml-org/llama.cpp, llama_relative_position_bucket",)
    example: ClassVar = {"model_type": "t5", "relative_attention_max_distance": 256}

    def find(self, subject: Subject) -> Iterator[Finding]:
        if subject.known is None or subject.known.unrotated != "t5":
            return
        distance = subject.number("relative_attention_max_distance")
        if distance is not None and distance != 128:
            yield self.finding(
                subject,
                f"{subject.prefix}relative_attention_max_distance",
                f"relative_attention_max_distance is {shown(distance)}, and {subject.engine} runs 128",
                "another engine for this model",
                max_distance=distance,
            )
