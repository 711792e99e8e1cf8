"""A rotary setting without effect under its scaling method."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.dialects.huggingface.parameters import COMMON, INERT, SECTION_KEYS, USED
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule

ALL = {key for keys in USED.values() for key in keys}


class IgnoredSetting(Rule):
    name = "ignored_setting"
    explanation = "A known rotary setting has no effect with this `rope_type`."
    why = "Whoever wrote it expects it to act; often the type is the mistake, and the model runs unscaled."
    remedy = "Set the `rope_type` that reads it, or remove it."
    reports = ("Blaizzy/mlx-vlm#1710", "NVIDIA-NeMo/Automodel#2825", "vllm-project/vllm#1956")
    example: ClassVar = {
        "model_type": "llama",
        "rope_scaling": {"rope_type": "linear", "factor": 4.0, "beta_fast": 32.0},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.settings if subject.kind == "huggingface" else ():
            if settings.type not in USED:
                continue
            for key in settings.values:
                if key not in ALL or key in (*USED[settings.type], *COMMON, *SECTION_KEYS, *INERT):
                    continue
                if key == "original_max_position_embeddings" and subject.known and subject.known.temperature:
                    continue
                readers = [word for word, keys in USED.items() if key in keys]
                place = f"{settings.where}.{key}"
                if key == "original_max_position_embeddings" and settings.type in ("linear", "dynamic"):
                    continue  # a note of the length before scaling: see scaled-length-again
                yield self.finding(
                    subject,
                    place,
                    f"{place} has no effect with rope_type {settings.type!r}: {', '.join(readers)} read it",
                    f'remove {key}, or "rope_type": "{readers[0]}" if that is meant',
                    rope_type=settings.type,
                )
