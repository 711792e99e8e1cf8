"""An old word for the scaling method."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.dialects.huggingface.parameters import LEGACY_TYPES
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class LegacyRopeType(Rule):
    name = "legacy_rope_type"
    severity = "note"
    explanation = "The scaling method is named by an old key or an old word."
    why = "A reader of `rope_type` alone finds none and runs plain frequencies."
    remedy = "Write `rope_type` with today's word; keep `type` beside it, with the same word, for old readers."
    reports = ("lablup/mlxcel#1355", "vllm-project/vllm 0.33, transformers_utils/config.py (su, mrope)")
    example: ClassVar = {"model_type": "llama", "rope_scaling": {"type": "linear", "factor": 2.0}}

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.settings if subject.kind == "huggingface" else ():
            word = "rope_type" if "rope_type" in settings.values else "type"
            value = settings.values.get(word)
            if not isinstance(value, str) or (word == "rope_type" and value not in LEGACY_TYPES):
                continue
            yield self.finding(
                subject,
                settings.key(word),
                f"{word} {value[:40]!r} is an old spelling: readers that know rope_type {settings.type[:40]!r} "
                "alone run plain "
                "frequencies",
                f'"rope_type": "{settings.type[:40]}"',
                type=value[:40],
            )
