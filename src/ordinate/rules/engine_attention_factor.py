"""An engine that ignores `attention_factor`."""

import math
from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._engines import LLAMA_CPP
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.yarn import magnitude


class EngineAttentionFactor(Rule):
    name = "engine_attention_factor"
    engines = ("sglang", *LLAMA_CPP, "mlx", "tensorrt_llm", "maxtext")
    explanation = "The engine does not read `attention_factor`, and computes a magnitude of its own."
    why = "The magnitude multiplies q and k: logits are off by the square of the ratio at every length."
    remedy = "SGLang reads `attn_factor`, which multiplies; the others have no setting that reaches."
    reports = (
        "sgl-project/sglang 0.5.23, rotary_embedding/yarn.py",
        "ggml-org/llama.cpp, src/llama-context.cpp (yarn_attn_factor)",
        "turboderp-org/exllamav3#259",
    )
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
        for settings in subject.scaled("yarn", "longrope"):
            given, factor = settings.number("attention_factor"), settings.number("factor")
            original = subject.original(settings)
            if given is None or given <= 0 or factor is None or factor < 1:
                continue
            theirs = 1.0 if subject.engine == "maxtext" else magnitude(factor)
            if settings.type == "longrope":
                if original is None or original[0] < 2:
                    continue
                theirs = math.sqrt(1 + math.log(factor) / math.log(original[0]))
            if abs(theirs - given) <= 1e-3 * given:
                continue
            ratio = given / theirs
            fix = f'"attn_factor": {ratio:.6g}' if subject.engine == "sglang" else "another engine for this model"
            yield self.finding(
                subject,
                settings.key("attention_factor"),
                f"attention_factor is {given:.4g}, and {subject.engine} runs {theirs:.4g}: logits are multiplied by "
                f"{(theirs / given) ** 2:.4g}",
                fix,
                attention_factor=given,
                engine_factor=theirs,
            )
