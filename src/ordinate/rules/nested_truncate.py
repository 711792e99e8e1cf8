"""`truncate` where transformers does not look for it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from ordinate.rules._numbers import furthest
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.yarn import Yarn


class NestedTruncate(Rule):
    name = "nested_truncate"
    explanation = "`truncate: false` stands among the settings of one layer type, where transformers 5.24 overlooks it."
    why = "It looks for the key in the outer object, finds none, and rounds the ends of the ramp."
    remedy = "Keep it, for engines that honour it, and check which one serves the model."
    reports = (
        "huggingface/transformers 5.24, modeling_rope_utils.py",
        "vllm-project/vllm#28244",
        "sgl-project/sglang#14270",
    )
    example: ClassVar = {
        "model_type": "olmo3",
        "max_position_embeddings": 131072,
        "rope_parameters": {
            "full_attention": {
                "rope_type": "yarn",
                "rope_theta": 150000.0,
                "factor": 32.0,
                "truncate": False,
                "original_max_position_embeddings": 4096,
            },
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("yarn"):
            if not settings.layer_type or settings.values.get("truncate") is not False:
                continue
            group = subject.group(settings)
            text = ""
            numbers = {}
            if group is not None and isinstance(group.stretch, Yarn):
                right = group.stretch.frequencies(group.rope)
                pair, worst = furthest(replace(group.stretch, truncate=True).frequencies(group.rope), right)
                text = f": pair {pair} then turns {worst:.0%} off what the settings say"
                numbers = {"pair": pair, "relative": worst}
            yield self.finding(
                subject,
                settings.key("truncate"),
                f"{settings.key('truncate')} is false, and transformers 5.24 rounds the ramp all the same{text}",
                'one set of settings for all layers, or "truncate": false in '
                f"{settings.where.rpartition('.')[0]} as well",
                **numbers,
            )
