"""A magnitude that counts q and k together."""

import math
from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.yarn import magnitude


class MagnitudeSquared(Rule):
    name = "magnitude_squared"
    explanation = "`attention_factor` is the square of YaRN's magnitude."
    why = "It multiplies cos and sin, hence q and k each: the logit is multiplied by its square, here the fourth power."
    remedy = "Write 0.1 ln(factor) + 1, not its square."
    reports = ("ggml-org/llama.cpp#4097", "NVIDIA/TensorRT-LLM#16378")
    example: ClassVar = {
        "model_type": "llama",
        "max_position_embeddings": 8192,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 2048,
            "rope_theta": 10000.0,
            "attention_factor": 1.296477,
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("yarn", "longrope"):
            given, factor, original = (
                settings.number("attention_factor"),
                settings.number("factor"),
                subject.original(settings),
            )
            if given is None or factor is None or factor <= 1:
                continue
            meant = magnitude(factor)
            if settings.type == "longrope":
                if original is None or original[0] < 2:
                    continue
                meant = math.sqrt(1 + math.log(factor) / math.log(original[0]))
            if abs(given - meant**2) > 1e-3 * meant or abs(given - meant) <= 1e-3:
                continue
            yield self.finding(
                subject,
                settings.key("attention_factor"),
                f"attention_factor {given:.6g} is {meant:.6g} squared; it multiplies cos and sin, so the logit "
                "is multiplied "
                f"by {given**2:.4f} where {meant**2:.4f} is meant",
                f'"attention_factor": {meant:.6g}',
                attention_factor=given,
                expected=meant,
            )
