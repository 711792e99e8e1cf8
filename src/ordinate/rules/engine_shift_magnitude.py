"""A context shift that multiplies keys once more."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._engines import LLAMA_CPP
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule

FIXES = {
    "llama_cpp": "no --context-shift",
    "ollama": "Ollama always shifts, and no setting stops it: num_ctx as long as the conversation gets, or llama.cpp's "
    "own server without --context-shift",
    "koboldcpp": "--noshift",
}


class EngineShiftMagnitude(Rule):
    name = "engine_shift_magnitude"
    engines = LLAMA_CPP
    explanation = "llama.cpp's context shift applies the magnitude to cached keys once more at every shift."
    why = "Keys grow by the magnitude each time: after ten shifts the oldest are several times too long."
    remedy = "Run llama.cpp without --context-shift, KoboldCpp with --noshift; Ollama always shifts."
    reports = ("ggml-org/llama.cpp#4097", "ggml-org/llama.cpp, src/llama-kv-cache.cpp (build_rope_shift)")
    example: ClassVar = {
        "model_type": "llama",
        "max_position_embeddings": 8192,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 2048,
            "rope_theta": 10000.0,
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("yarn", "longrope"):
            group = subject.group(settings)
            if group is None or group.stretch is None:
                continue
            factor = group.stretch.attention_factor()
            if not 1.0001 < factor < 100:
                continue
            yield self.finding(
                subject,
                settings.key("factor"),
                f"each context shift of {subject.engine} multiplies cached keys by {factor:.4f}: by {factor**10:.4g} "
                "after ten",
                FIXES[subject.engine or "llama_cpp"],
                magnitude=factor,
                after_ten=factor**10,
            )
