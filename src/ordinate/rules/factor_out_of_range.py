"""A factor below 1, or none at all."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class FactorOutOfRange(Rule):
    name = "factor_out_of_range"
    severity = "error"
    explanation = "The factor is below 1, or is no number."
    why = "A factor below 1 makes frequencies rise; llama.cpp's --rope-freq-scale and MLX's scale are its inverse."
    remedy = "Write the ratio of the new length to the trained one: 4.0 for four times as many tokens."
    reports = ("ggml-org/llama.cpp#2402", "ggml-org/llama.cpp#2544", "lablup/mlxcel#1324")
    example: ClassVar = {"model_type": "llama", "rope_scaling": {"rope_type": "linear", "factor": 0.25}}

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("linear", "dynamic", "yarn", "llama3", "proportional"):
            if "factor" not in settings.values or isinstance(settings.values["factor"], str):
                continue
            factor = settings.number("factor")
            if factor is not None and factor >= 1:
                continue
            inverse = (
                f'"factor": {shown(1 / factor)} (its inverse)' if factor and factor > 1e-9 else '"factor": 2.0, say'
            )
            yield self.finding(
                subject,
                settings.key("factor"),
                f"{settings.key('factor')} is {str(settings.values['factor'])[:40]}, and must be a number >= 1: "
                "the ratio of "
                "the new length to the trained one",
                inverse,
                factor=factor,
            )
