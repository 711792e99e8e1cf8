"""A zero that engines read in two ways."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.yarn import magnitude


class ZeroSetting(Rule):
    name = "zero_setting"
    explanation = "A YaRN setting is 0: transformers takes that for absent, SGLang for a number."
    why = "With mscale 0.707, mscale_all_dim 0 and factor 40 the magnitude is 1.369 in one and 1.261 in the other."
    remedy = "Remove the key, or write `attention_factor` with the magnitude that is meant."
    reports = ("sgl-project/sglang 0.5.23, rotary_embedding/yarn.py", "turboderp-org/exllamav3#259")
    example: ClassVar = {
        "model_type": "llama",
        "max_position_embeddings": 163840,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 40.0,
            "original_max_position_embeddings": 4096,
            "rope_theta": 10000.0,
            "mscale": 0.707,
            "mscale_all_dim": 0,
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("yarn"):
            mscale, whole, factor = (settings.number(key) for key in ("mscale", "mscale_all_dim", "factor"))
            if mscale is None or whole is None or mscale * whole != 0 or factor is None or factor <= 1:
                continue
            if mscale == whole or "attention_factor" in settings.values or min(mscale, whole) < 0:
                continue
            theirs, ours = magnitude(factor, mscale) / magnitude(factor, whole), magnitude(factor)
            key = "mscale_all_dim" if whole == 0 else "mscale"
            yield self.finding(
                subject,
                settings.key(key),
                f"{settings.key(key)} is 0: transformers takes the pair for absent, magnitude {ours:.3f}, and "
                "SGLang divides "
                f"with it, magnitude {theirs:.3f}",
                f'"attention_factor": {ours:.6g} or {theirs:.6g}, whichever the model was trained with',
                transformers=ours,
                sglang=theirs,
            )
