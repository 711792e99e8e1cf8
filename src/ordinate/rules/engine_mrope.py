"""An engine with one position a token for multimodal RoPE."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class EngineMrope(Rule):
    name = "engine_mrope"
    engines = ("mlx",)
    explanation = "mlx-lm reads multimodal RoPE as plain RoPE: text is right, images and video are not."
    why = "All axes take the text's position, so the grid of an image is lost."
    remedy = "mlx-vlm, or another engine, for images."
    reports = ("Blaizzy/mlx-vlm#1282", "linkedin/Liger-Kernel#276", "QwenLM/Qwen3-VL#488")
    example: ClassVar = {
        "model_type": "qwen2_vl",
        "text_config": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]}},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.settings:
            sections = settings.values.get("mrope_section")
            if any(group.scheme == "multimodal" for group in subject.rotating) and isinstance(sections, Sequence):
                yield self.finding(
                    subject,
                    settings.key("mrope_section"),
                    f"mrope_section {list(sections[:4])} shares pairs among {len(sections)} axes, and mlx-lm "
                    "has one position",
                    "mlx-vlm for anything but text",
                    axes=len(sections),
                )
