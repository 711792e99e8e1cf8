"""Scaling by bands without the length they are counted in."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from ordinate.rules._numbers import furthest, shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.yarn import Yarn


class OriginalLengthMissing(Rule):
    name = "original_length_missing"
    explanation = "`original_max_position_embeddings` is missing where the method counts turns in the trained length."
    why = "Engines take `max_position_embeddings` for it, which counts the stretching already: the bands move."
    remedy = "Write the length that the model was trained at before it was stretched."
    reports = ("hiyouga/LlamaFactory#8101", "NVIDIA-NeMo/Automodel#2652", "NVIDIA/Megatron-LM#1418")
    example: ClassVar = {
        "model_type": "qwen3",
        "max_position_embeddings": 131072,
        "rope_theta": 1000000.0,
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("yarn", "llama3", "longrope"):
            if subject.original(settings) is not None:
                continue
            key, length = settings.key("original_max_position_embeddings"), subject.length
            group, factor = subject.group(settings), settings.number("factor")
            fix, text, numbers = '"original_max_position_embeddings": the trained length', "", {}
            if length and factor and factor >= 1 and length / factor >= 1:
                trained = round(length / factor)
                fix = (
                    f'"original_max_position_embeddings": {trained}, if {shown(length)} counts the factor '
                    f"{shown(factor)}"
                )
                if group is not None and isinstance(group.stretch, Yarn | Llama3):
                    right = replace(group.stretch, original_max_position_embeddings=trained)
                    pair, worst = furthest(group.stretch.frequencies(group.rope), right.frequencies(group.rope))
                    text = f"; if that counts the stretching, pair {pair} turns {worst:.0%} off"
                    numbers = {"pair": pair, "relative": worst}
            taken = f"engines take max_position_embeddings {shown(length)}" if length else "there is none to take"
            yield self.finding(subject, key, f"{key} is missing: {taken}{text}", fix, **numbers)
