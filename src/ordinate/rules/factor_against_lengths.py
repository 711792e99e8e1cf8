"""A YaRN factor that the lengths contradict."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class FactorAgainstLengths(Rule):
    name = "factor_against_lengths"
    explanation = "YaRN's factor times the original length is not `max_position_embeddings`."
    why = "Some engines stop at the shorter length, some compute the factor anew from the lengths: other frequencies."
    remedy = "Make the three agree: max_position_embeddings = factor times original_max_position_embeddings."
    reports = ("huggingface/transformers#38224", "huggingface/transformers#40320", "NVIDIA/Megatron-LM#1418")
    example: ClassVar = {
        "model_type": "qwen3",
        "max_position_embeddings": 40960,
        "rope_theta": 1000000.0,
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("yarn"):
            factor, original, length = settings.number("factor"), subject.original(settings), subject.length
            if factor is None or original is None or length is None or factor < 1 or original[0] < 1 or length < 1:
                continue
            product, ratio = factor * original[0], length / original[0]
            if abs(product - length) <= max(0.01 * length, 1):
                continue
            engines = f"engines that compute it from the lengths divide slow pairs by {ratio:.4g}"
            beyond = (
                "engines that stop there never reach it"
                if product > length
                else "positions past it were not stretched for"
            )
            yield self.finding(
                subject,
                settings.key("factor"),
                f"factor {shown(factor)} times {shown(original[0])} is {shown(product)}, and "
                "max_position_embeddings is "
                f"{shown(length)}: {beyond}, and {engines}, not {shown(factor)}",
                f'"max_position_embeddings": {shown(round(product))}, or "factor": {max(ratio, 1):.6g}',
                factor=factor,
                ratio=ratio,
                product=product,
                max_position_embeddings=length,
            )
