"""An original length that is the file's length and not the trained one."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from ordinate.rules._numbers import furthest
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.yarn import Yarn

NATIVE = {"qwen3": 32768, "qwen3_moe": 32768}
FILE = 40960


class OriginalLengthNotNative(Rule):
    name = "original_length_not_native"
    explanation = (
        "YaRN's original length is Qwen3's file length 40960, which leaves room for an answer; trained are 32768."
    )
    why = "Guides copy max_position_embeddings into it: the ramp is shifted by one pair, and the product by a quarter."
    remedy = "Write 32768, as the vendor does."
    reports = ("huggingface/transformers#38224", "blog.csdn.net/DK_Allen/148875869", "vllm-project/vllm#18728")
    example: ClassVar = {
        "model_type": "qwen3",
        "max_position_embeddings": 163840,
        "rope_theta": 1000000.0,
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 40960},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        native = NATIVE.get(subject.model_type)
        for settings in subject.scaled("yarn") if native else ():
            original, group = subject.original(settings), subject.group(settings)
            if native is None or original is None or original[0] != FILE:
                continue
            text, numbers = "", {}
            if group is not None and isinstance(group.stretch, Yarn):
                right = replace(group.stretch, original_max_position_embeddings=native)
                pair, worst = furthest(group.stretch.frequencies(group.rope), right.frequencies(group.rope))
                ends, meant = group.stretch.ramp_ends(group.rope), right.ramp_ends(group.rope)
                text = f": the ramp runs over pairs {ends} instead of {meant}, and pair {pair} turns {worst:.0%} off"
                numbers = {"pair": pair, "relative": worst}
            yield self.finding(
                subject,
                original[1],
                f"{original[1]} is {FILE}, and {subject.model_type} was trained at {native}{text}",
                f'"original_max_position_embeddings": {native}',
                **numbers,
            )
