"""An engine that runs dynamic scaling otherwise, or not at all."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._engines import LLAMA_CPP
from ordinate.rules._numbers import furthest, shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.dynamic_ntk import DynamicNtk

SAYS = {
    "vllm": "runs plain frequencies, and yet multiplies the length by the factor: positions past its table are read",
    "sglang": "scales for the full length from the first token on: short prompts change too",
    **dict.fromkeys(LLAMA_CPP, "has no dynamic scaling: conversion drops it, and frequencies are plain"),
    "exllamav2": "has no dynamic scaling",
    "exllamav3": "has no dynamic scaling",
    "tensorrt_llm": "needs an `alpha` for dynamic, and refuses or runs plain frequencies",
    "keras_hub": "divides every frequency by factor ** (d / (d - 2)), at every length",
}


class EngineDynamic(Rule):
    name = "engine_dynamic"
    engines = tuple(SAYS)
    explanation = "The engine does not run `dynamic` as transformers does."
    why = "One word, six methods: nothing, always, never, or another formula."
    remedy = "Use yarn, which these engines share."
    reports = (
        "vllm-project/vllm#55910",
        "NVIDIA/TensorRT-LLM#1299",
        "NVIDIA/TensorRT-LLM#1610",
        "vllm-project/vllm#3488",
    )
    example: ClassVar = {
        "model_type": "llama",
        "max_position_embeddings": 2048,
        "rope_scaling": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("dynamic"):
            group, engine = subject.group(settings), subject.engine or ""
            if group is None or not isinstance(group.stretch, DynamicNtk) or settings.values.get("alpha") is not None:
                continue
            stretch = group.stretch
            last = min(int(stretch.window * min(stretch.factor, 1e6)), 2**50)
            right, plain = subject.frequencies(group, last), group.rope.plain()
            if right is None or stretch.factor == 1:
                continue
            pair, worst = furthest(plain, right)
            yield self.finding(
                subject,
                settings.key("factor"),
                f"{engine} {SAYS[engine]}; at {last} tokens plain frequencies are {worst - 0:.0%} off in pair {pair}",
                f'"rope_type": "yarn", "factor": {shown(stretch.factor)}, "original_max_position_embeddings": '
                f"{stretch.window}",
                pair=pair,
                relative=worst,
            )
