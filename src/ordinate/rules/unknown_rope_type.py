"""A scaling method that no reader knows."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule

TYPES = ("default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional", "axial")
ELSEWHERE = {
    "ntk": "vLLM's",
    "deepseek_yarn": "vLLM's and SGLang's",
    "deepseek_llama_scaling": "vLLM's",
    "telechat3-yarn": "vLLM's",
    "mllama4": "vLLM's",
}


class UnknownRopeType(Rule):
    name = "unknown_rope_type"
    severity = "error"
    explanation = "The `rope_type` is none of Hugging Face's."
    why = "Engines that look a type up with a default run another method instead, or none, and say nothing."
    remedy = f"Write one of {', '.join(TYPES)}."
    reports = ("NVIDIA-NeMo/Automodel#2825", "Blaizzy/mlx-vlm#1710", "vllm-project/vllm#1956")
    example: ClassVar = {"model_type": "llama", "rope_scaling": {"rope_type": "yarm", "factor": 4.0}}

    def find(self, subject: Subject) -> Iterator[Finding]:
        known = subject.known
        for settings in subject.settings if subject.kind == "huggingface" else ():
            for word in ("rope_type", "type"):
                value = settings.values.get(word)
                if not isinstance(value, str) or settings.type in TYPES:
                    continue
                if known is not None and value in known.legacy_types:
                    continue
                close = get_close_matches(value[:40], TYPES, n=1)
                whose = f"; it is {ELSEWHERE[value]} word" if value in ELSEWHERE else ""
                yield self.finding(
                    subject,
                    settings.key(word),
                    f"{settings.key(word)} {value[:40]!r} is no scaling method of transformers 5.24{whose}: "
                    "engines that look "
                    "it up with a default run another, silently",
                    f'"{word}": "{close[0]}" (did you mean that?)' if close else f"one of {', '.join(TYPES)}",
                    type=value[:40],
                )
                break
