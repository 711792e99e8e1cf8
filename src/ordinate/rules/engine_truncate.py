"""An engine that always rounds YaRN's ramp."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from ordinate.rules._engines import LLAMA_CPP
from ordinate.rules._numbers import furthest
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.yarn import Yarn


class EngineTruncate(Rule):
    name = "engine_truncate"
    engines = (*LLAMA_CPP, "mlx", "tensorrt_llm")
    explanation = "The engine rounds the ends of YaRN's ramp whatever `truncate` says."
    why = "gpt-oss is trained without rounding: one pair turns 76 % off its frequency where an engine rounds."
    remedy = "Use an engine that honours truncate: vLLM, SGLang, exllamav3, or transformers with flat settings."
    reports = ("vllm-project/vllm#28244", "sgl-project/sglang#14270", "ggml-org/llama.cpp, ggml_rope_yarn_corr_dims")
    example: ClassVar = {
        "model_type": "llama",
        "head_dim": 64,
        "max_position_embeddings": 131072,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 32.0,
            "original_max_position_embeddings": 4096,
            "rope_theta": 150000.0,
            "truncate": False,
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("yarn"):
            group = subject.group(settings)
            if settings.values.get("truncate") is not False or group is None or not isinstance(group.stretch, Yarn):
                continue
            right = group.stretch.frequencies(group.rope)
            pair, worst = furthest(replace(group.stretch, truncate=True).frequencies(group.rope), right)
            yield self.finding(
                subject,
                settings.key("truncate"),
                f"truncate is false, and {subject.engine} rounds: pair {pair} turns {worst:.0%} off the model's "
                "frequency",
                "an engine that honours truncate; there is no setting for it here",
                pair=pair,
                relative=worst,
            )
