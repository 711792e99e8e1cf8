"""A base where an engine does not look for it."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import furthest, shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class EngineBaseInside(Rule):
    name = "engine_base_inside"
    engines = ("deepspeed", "liger", "airllm")
    explanation = "`rope_theta` stands in `rope_parameters` alone, and the engine reads it outside."
    why = 'It asks getattr(config, "rope_theta", 10000), finds none, and runs another base without a word.'
    remedy = "Write rope_theta in both places."
    reports = (
        "deepspeedai/DeepSpeed#8345",
        "deepspeedai/DeepSpeed#8341",
        "linkedin/Liger-Kernel#1013",
        "lyogavin/airllm#368",
    )
    example: ClassVar = {
        "model_type": "llama",
        "head_dim": 128,
        "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        if subject.kind != "huggingface" or subject.config.get("rope_theta") is not None:
            return
        for settings in subject.settings:
            base = settings.number("rope_theta")
            group = subject.group(settings)
            if base is None or base == 10000 or group is None or base <= 0:
                continue
            right = group.rope.plain()
            pair, worst = furthest(group.rope.plain(10000.0), right)
            yield self.finding(
                subject,
                settings.key("rope_theta"),
                f"{settings.key('rope_theta')} is {shown(base)}, and {subject.engine} reads rope_theta outside "
                "and takes 10000: "
                f"pair {pair} turns {worst:.3g} times its frequency too fast",
                f'"rope_theta": {shown(base)} beside {settings.where} as well',
                base=base,
                relative=worst,
            )
