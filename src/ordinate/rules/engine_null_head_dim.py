"""A `head_dim` of null that stops transformers."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class EngineNullHeadDim(Rule):
    name = "engine_null_head_dim"
    engines = ("transformers",)
    severity = "error"
    explanation = "`head_dim` is null, and this scaling method does not derive the width then."
    why = "dynamic, yarn and longrope ask getattr with a default, get None, and fail with a TypeError."
    remedy = "Write the number, or remove the key."
    reports = ("huggingface/transformers 5.24, modeling_rope_utils.py", "vllm-project/vllm#43770")
    example: ClassVar = {
        "model_type": "llama",
        "head_dim": None,
        "max_position_embeddings": 2048,
        "rope_scaling": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        if subject.kind != "huggingface" or "head_dim" not in subject.config or subject.config["head_dim"] is not None:
            return
        for settings in subject.scaled("dynamic", "yarn", "longrope"):
            group = subject.group(settings)
            width = f'"head_dim": {group.rope.head_dim}' if group is not None else "the number"
            yield self.finding(
                subject,
                f"{subject.prefix}head_dim",
                f"head_dim is null, and transformers 5.24 fails on it with rope_type {settings.type}",
                f"{width}, or no head_dim at all",
            )
