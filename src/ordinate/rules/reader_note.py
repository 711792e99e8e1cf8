"""What the reader of the files remarked on, where no rule says more."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class ReaderNote(Rule):
    name = "reader_note"
    severity = "note"
    gives_way = True
    explanation = "Reading the files left a remark that no rule says more about."
    why = "The reader follows transformers 5.24; where that overlooks a setting or takes a default, it says so."
    remedy = "State the value that was assumed, or remove what is not read."
    reports = ("huggingface/transformers 5.24, modeling_rope_utils.py", "Blaizzy/mlx-vlm#1710")
    example: ClassVar = {
        "model_type": "llama",
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "rope_ratio": 8,
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for text in () if subject.spec is None else subject.spec.warnings:
            yield self.finding(subject, "", text, "See `ordinate describe --sources` for where each value was read")
