"""A params.json that leaves its scaling to the code."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.llama3 import Llama3


class MetaConstants(Rule):
    name = "meta_constants"
    severity = "note"
    explanation = "params.json says only that frequencies are scaled; the numbers are in Meta's code."
    why = "Llama 3.1 and 3.2 were released with factors 8 and 32 under one word: readers take one for all."
    remedy = "Use the Hugging Face config.json of the release, which has the numbers."
    reports = ("meta-llama/llama-models, models/llama3/args.py", "AI-Hypercomputer/maxtext, llama3.1 constants")
    example: ClassVar = {
        "dim": 4096,
        "n_layers": 32,
        "n_heads": 32,
        "n_kv_heads": 8,
        "rope_theta": 500000.0,
        "use_scaled_rope": True,
        "multiple_of": 1024,
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        if subject.kind != "params" or subject.values.get("use_scaled_rope") is not True:
            return
        if subject.values.get("rope_scaling_factor") is not None:
            return
        for group in subject.rotating[:1]:
            if isinstance(group.stretch, Llama3):
                yield self.finding(
                    subject,
                    "use_scaled_rope",
                    f"use_scaled_rope is true and no factor is given: {shown(group.stretch.factor)} is assumed "
                    "from the shape, "
                    f"trained length {group.stretch.original_max_position_embeddings}",
                    "config.json of the same release, which states factor, low_freq_factor and high_freq_factor",
                    factor=group.stretch.factor,
                )
