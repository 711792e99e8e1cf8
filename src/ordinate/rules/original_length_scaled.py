"""An original length that is the stretched one."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from ordinate.rules._numbers import furthest, shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.llama3 import Llama3


class OriginalLengthScaled(Rule):
    name = "original_length_scaled"
    explanation = "`original_max_position_embeddings` is not below the stretched length."
    why = (
        "Bands are counted in it: with the stretched length too few pairs, or none, are interpolated where "
        "they must be."
    )
    remedy = "Write the length before stretching."
    reports = ("vllm-project/vllm#1264", "vllm-project/vllm#55116", "NVIDIA/Megatron-LM#1418")
    example: ClassVar = {
        "model_type": "llama",
        "max_position_embeddings": 131072,
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "rope_theta": 500000.0,
            "original_max_position_embeddings": 131072,
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("llama3", "longrope"):
            original, length, factor = subject.original(settings), subject.length, settings.number("factor")
            if original is None or length is None or original[0] < length or factor == 1:
                continue
            text, numbers = "", {}
            group = subject.group(settings)
            fix = '"original_max_position_embeddings": the length before stretching'
            if group is not None and isinstance(group.stretch, Llama3) and length / group.stretch.factor >= 1:
                trained = round(length / group.stretch.factor)
                right = replace(group.stretch, original_max_position_embeddings=trained)
                pair, worst = furthest(group.stretch.frequencies(group.rope), right.frequencies(group.rope))
                text = f"; with {trained} pair {pair} would turn otherwise by {worst:.0%}"
                fix = f'"original_max_position_embeddings": {trained}, if {shown(length)} counts the factor'
                numbers = {"pair": pair, "relative": worst}
            elif settings.type == "longrope":
                text = ": its long factors are never used"
            yield self.finding(
                subject,
                original[1],
                f"{original[1]} {shown(original[0])} is not below max_position_embeddings {shown(length)}{text}",
                fix,
                **numbers,
            )
