"""A YaRN ramp that runs backwards."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class YarnBetas(Rule):
    name = "yarn_betas"
    severity = "error"
    explanation = "`beta_fast` is below `beta_slow`."
    why = "The ramp is inverted: fast pairs are interpolated and slow ones kept. transformers only warns."
    remedy = "Write the larger number of turns as beta_fast: 32 and 1 are the defaults."
    reports = ("Lightning-AI/litgpt, litgpt/model.py", "paiml/aprender#2161", "apache/tvm#18576")
    example: ClassVar = {
        "model_type": "llama",
        "max_position_embeddings": 8192,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 2048,
            "rope_theta": 10000.0,
            "beta_fast": 1,
            "beta_slow": 32,
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("yarn"):
            fast, slow = settings.number("beta_fast") or 32.0, settings.number("beta_slow") or 1.0
            if fast >= slow:  # equal ones, as in Kimi K2, are a step
                continue
            yield self.finding(
                subject,
                settings.key("beta_fast"),
                f"beta_fast {shown(fast)} is below beta_slow {shown(slow)}: pairs that turn often would be "
                "interpolated, and slow ones kept",
                f'"beta_fast": {shown(slow)}, "beta_slow": {shown(fast)}',
                beta_fast=fast,
                beta_slow=slow,
            )
