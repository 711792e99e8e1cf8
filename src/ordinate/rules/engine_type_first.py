"""An engine that reads `type` before `rope_type`."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class EngineTypeFirst(Rule):
    name = "engine_type_first"
    engines = ("mlx", "tensorrt_llm")
    explanation = "`type` and `rope_type` differ in words, and the engine reads `type` first."
    why = "An old word there (su, mrope) is looked up as it stands."
    remedy = "Remove `type`, or write the word of `rope_type` there."
    reports = ("lablup/mlxcel#1355", "NVIDIA/TensorRT-LLM, RopeParams.from_config")
    example: ClassVar = {
        "model_type": "qwen2_vl",
        "text_config": {
            "rope_scaling": {
                "type": "mrope",
                "rope_type": "default",
                "rope_theta": 1e6,
                "mrope_section": [16, 24, 24],
            }
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.settings:
            old, new = settings.values.get("type"), settings.values.get("rope_type")
            if isinstance(old, str) and isinstance(new, str) and old != new:
                yield self.finding(
                    subject,
                    settings.key("type"),
                    f"type is {old[:40]!r} and rope_type {new[:40]!r}: {subject.engine} runs the first",
                    f'"type": "{new[:40]}", or no type at all',
                    type=old[:40],
                    rope_type=new[:40],
                )
