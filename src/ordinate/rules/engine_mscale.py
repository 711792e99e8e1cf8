"""An `mscale` that llama.cpp takes for 1."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._engines import LLAMA_CPP
from ordinate.rules._numbers import shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.yarn import magnitude


class EngineMscale(Rule):
    name = "engine_mscale"
    engines = LLAMA_CPP
    explanation = "llama.cpp assumes `mscale` 1."
    why = "It knows 0.1 mscale_all_dim as yarn_log_multiplier alone, and computes the rest with 1."
    remedy = "Another engine, or a model with mscale 1."
    reports = ("ggml-org/llama.cpp, src/llama-context.cpp", "turboderp-org/exllamav3#259")
    example: ClassVar = {
        "model_type": "deepseek_v2",
        "max_position_embeddings": 163840,
        "rope_theta": 10000.0,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 40.0,
            "original_max_position_embeddings": 4096,
            "mscale": 0.5,
            "mscale_all_dim": 0.707,
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("yarn"):
            mscale, whole, factor = (settings.number(key) for key in ("mscale", "mscale_all_dim", "factor"))
            if mscale in (None, 0, 1) or not whole or mscale == whole or factor is None or factor <= 1:
                continue
            if mscale is None or min(mscale, whole) < 0:
                continue
            right, theirs = (
                magnitude(factor, mscale) / magnitude(factor, whole),
                magnitude(factor) / magnitude(factor, whole),
            )
            yield self.finding(
                subject,
                settings.key("mscale"),
                f"mscale is {shown(mscale)}, and {subject.engine} takes 1: cos and sin are multiplied by "
                f"{theirs:.4f}, not "
                f"{right:.4f}",
                "another engine for this model",
                expected=right,
                engine_factor=theirs,
            )
