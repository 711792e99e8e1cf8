"""Two words for the scaling method that disagree."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.dialects.huggingface.parameters import LEGACY_TYPES
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class RopeTypeConflict(Rule):
    name = "rope_type_conflict"
    severity = "error"
    explanation = "`type` and `rope_type` stand side by side and name different methods."
    why = "transformers reads `rope_type`, mlx-lm and TensorRT-LLM read `type` first, vLLM refuses: three models."
    remedy = "Keep `rope_type` and remove `type`."
    reports = ("lablup/mlxcel#1355", "huggingface/transformers 5.24, standardize_rope_params")
    example: ClassVar = {
        "model_type": "llama",
        "rope_scaling": {"type": "linear", "rope_type": "dynamic", "factor": 2.0},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.settings:
            old, new = settings.values.get("type"), settings.values.get("rope_type")
            if not isinstance(old, str) or not isinstance(new, str):
                continue
            if LEGACY_TYPES.get(old, old) != LEGACY_TYPES.get(new, new):
                yield self.finding(
                    subject,
                    settings.key("rope_type"),
                    f"rope_type is {new[:40]!r} and type is {old[:40]!r}: transformers runs {new[:40]!r}, "
                    "mlx-lm and TensorRT-LLM "
                    f"{old[:40]!r}, and vLLM refuses",
                    f'"rope_type": "{new[:40]}", without type',
                    rope_type=new[:40],
                    type=old[:40],
                )
