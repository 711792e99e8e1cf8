"""A stretched length that an engine does not derive."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class EngineLengthRefused(Rule):
    name = "engine_length_refused"
    engines = ("vllm",)
    explanation = "vLLM takes max_position_embeddings as the limit, and YaRN's factor does not raise it."
    why = "`--max-model-len` with the stretched length is refused, or the server stops at the unstretched one."
    remedy = "Override max_position_embeddings together with the scaling."
    reports = ("vllm-project/vllm#2518", "vllm-project/vllm#2565", "vllm-project/vllm#55116", "vllm-project/vllm#3676")
    example: ClassVar = {
        "model_type": "qwen3",
        "max_position_embeddings": 40960,
        "rope_theta": 1000000.0,
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("yarn"):
            factor, original, length = settings.number("factor"), subject.original(settings), subject.length
            if factor is None or original is None or length is None or factor * original[0] <= 1.01 * length:
                continue
            reached = shown(round(factor * original[0]))
            yield self.finding(
                subject,
                subject.key("max_position_embeddings"),
                f"factor {shown(factor)} reaches {reached} tokens, and vLLM 0.33 stops at max_position_embeddings "
                f"{shown(length)}",
                f"--hf-overrides '{{\"max_position_embeddings\": {reached}}}' --max-model-len {reached}",
                reached=factor * original[0],
                limit=length,
            )
