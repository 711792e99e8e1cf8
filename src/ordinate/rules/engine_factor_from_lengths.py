"""An engine that computes YaRN's factor from the lengths."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class EngineFactorFromLengths(Rule):
    name = "engine_factor_from_lengths"
    engines = ("exllamav3",)
    severity = "error"
    explanation = "exllamav3 ignores YaRN's `factor` where the original length is given, and divides the lengths."
    why = "Qwen3 with factor 4 runs with 40960 / 32768 = 1.25: slow pairs turn 3.2 times too fast."
    remedy = "Set max_position_embeddings to factor times the original length."
    reports = ("huggingface/transformers#38224", "turboderp-org/exllamav3, util/rope.py")
    example: ClassVar = {
        "model_type": "qwen3",
        "max_position_embeddings": 40960,
        "rope_theta": 1000000.0,
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("yarn"):
            factor, original, length = settings.number("factor"), subject.original(settings), subject.length
            if factor is None or factor < 1 or original is None or length is None or original[0] < 1:
                continue
            theirs = length / original[0]
            if abs(theirs - factor) <= 1e-3 * factor:
                continue
            yield self.finding(
                subject,
                settings.key("factor"),
                f"factor is {shown(factor)}, and exllamav3 runs {shown(length)} / {shown(original[0])} = "
                f"{theirs:.4g}: slow pairs "
                f"turn {factor / theirs:.3g} times as fast as they should",
                f'"max_position_embeddings": {shown(round(factor * original[0]))}',
                factor=factor,
                engine_factor=theirs,
            )
