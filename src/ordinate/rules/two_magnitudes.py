"""Two settings for one magnitude."""

import math
from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.yarn import magnitude


class TwoMagnitudes(Rule):
    name = "two_magnitudes"
    explanation = "`attention_factor` stands beside `mscale` or `mscale_all_dim`."
    why = "transformers and vLLM take the first, SGLang and mlx-lm the others: two magnitudes from one file."
    remedy = "Keep the one that the model was trained with."
    reports = ("turboderp-org/exllamav3#259", "sgl-project/sglang 0.5.23, rotary_embedding/yarn.py")
    example: ClassVar = {
        "model_type": "llama",
        "max_position_embeddings": 131072,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 16.0,
            "original_max_position_embeddings": 8192,
            "rope_theta": 500000.0,
            "attention_factor": 1.2,
            "mscale": 1.0,
            "mscale_all_dim": 0.707,
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("yarn"):
            given, factor = settings.number("attention_factor"), settings.number("factor")
            mscale, whole = settings.number("mscale"), settings.number("mscale_all_dim")
            if given is None or factor is None or factor <= 1 or (mscale is None and whole is None):
                continue
            below = magnitude(factor, whole or 0.0)
            other = magnitude(factor, 1.0 if mscale is None else mscale) / below if below > 0 else math.nan
            if abs(other - given) <= 1e-3 * abs(given):
                continue
            yield self.finding(
                subject,
                settings.key("attention_factor"),
                f"attention_factor is {given:.4g}, and mscale and mscale_all_dim give {other:.4g}: transformers "
                "and vLLM run "
                "the first, SGLang and mlx-lm the second",
                f'"attention_factor": {given:.6g}, without mscale and mscale_all_dim',
                attention_factor=given,
                by_mscale=other,
            )
