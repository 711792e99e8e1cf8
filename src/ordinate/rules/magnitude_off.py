"""YaRN without its magnitude."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.yarn import magnitude


class MagnitudeOff(Rule):
    name = "magnitude_off"
    severity = "note"
    explanation = "`attention_factor` is 1 with YaRN's factor above 1: the magnitude is switched off."
    why = "Right for models trained so (Ministral 3); engines that ignore the setting run 0.1 ln(factor) + 1 instead."
    remedy = "Leave it if the model was trained with it; else remove it."
    reports = ("turboderp-org/exllamav3#259", "sgl-project/sglang 0.5.23, rotary_embedding/yarn.py")
    example: ClassVar = {
        "model_type": "llama",
        "max_position_embeddings": 8192,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 2048,
            "rope_theta": 10000.0,
            "attention_factor": 1.0,
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("yarn"):
            factor = settings.number("factor")
            if settings.number("attention_factor") == 1 and factor is not None and factor > 1:
                yield self.finding(
                    subject,
                    settings.key("attention_factor"),
                    f"attention_factor is 1, where the factor {shown(factor)} gives {magnitude(factor):.4f}",
                    f"remove it, if the model was trained with {magnitude(factor):.4f}",
                    expected=magnitude(factor),
                )
