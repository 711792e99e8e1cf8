"""A length that counts the scaling, scaled once more."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class ScaledLengthAgain(Rule):
    name = "scaled_length_again"
    explanation = "`max_position_embeddings` counts linear or dynamic scaling already, and engines count it again."
    why = "For linear and dynamic it means the length before scaling; engines multiply it by the factor."
    remedy = "Write the length before scaling as max_position_embeddings."
    reports = (
        "hiyouga/LlamaFactory#1298",
        "vllm-project/vllm#1264",
        "vllm-project/vllm#55116",
        "vllm-project/vllm#56446",
    )
    example: ClassVar = {
        "model_type": "llama",
        "max_position_embeddings": 16384,
        "rope_scaling": {
            "rope_type": "linear",
            "factor": 4.0,
            "rope_theta": 10000.0,
            "original_max_position_embeddings": 4096,
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("linear", "dynamic"):
            factor, original, length = settings.number("factor"), subject.original(settings), subject.length
            if subject.kind != "huggingface" or factor is None or original is None or not length or factor <= 1:
                continue
            if abs(factor * original[0] - length) > 0.01 * length:
                continue
            yield self.finding(
                subject,
                subject.key("max_position_embeddings"),
                f"max_position_embeddings {shown(length)} is factor {shown(factor)} times {shown(original[0])} "
                "already; with "
                f"{settings.type} engines multiply it once more, to {shown(factor * length)}",
                f'"max_position_embeddings": {shown(original[0])}',
                max_position_embeddings=length,
                multiplied=factor * length,
            )
