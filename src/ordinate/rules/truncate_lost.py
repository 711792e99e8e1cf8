"""A `truncate: false` that a model's own code has, and its configuration lost."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from ordinate.rules._numbers import furthest
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.yarn import Yarn


class TruncateLost(Rule):
    name = "truncate_lost"
    explanation = "The architecture is trained without rounding YaRN's ramp, and the configuration rounds it."
    why = "Settings that are given replace the architecture's own whole, and `truncate` is true where it is not named."
    remedy = "Write `truncate: false` among the rotary settings."
    reports = (
        "vllm-project/vllm#28244",
        "huggingface/transformers 5.24, models/gpt_oss/configuration_gpt_oss.py",
    )
    example: ClassVar = {
        "model_type": "gpt_oss",
        "max_position_embeddings": 131072,
        "rope_parameters": {
            "rope_type": "yarn",
            "rope_theta": 150000.0,
            "factor": 32.0,
            "original_max_position_embeddings": 4096,
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        if subject.known is None or (subject.known.rope or {}).get("truncate") is not False:
            return
        for settings in subject.scaled("yarn"):
            group = subject.group(settings)
            if group is None or not isinstance(group.stretch, Yarn) or not group.stretch.truncate:
                continue
            right = replace(group.stretch, truncate=False).frequencies(group.rope)
            pair, worst = furthest(group.stretch.frequencies(group.rope), right)
            if worst == 0:
                continue
            said = "true" if settings.values.get("truncate") is not None else "missing, which means true"
            yield self.finding(
                subject,
                settings.key("truncate"),
                f"{settings.key('truncate')} is {said}, and {subject.model_type} is trained with false: pair {pair} "
                f"turns {worst:.0%} off the model's frequency",
                f'"truncate": false in {settings.where}',
                pair=pair,
                relative=worst,
            )
