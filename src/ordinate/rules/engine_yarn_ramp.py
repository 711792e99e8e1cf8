"""An engine whose YaRN ramp is inverted or bounded otherwise."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from ordinate.rules._numbers import furthest
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.yarn import Yarn


class EngineYarnRamp(Rule):
    name = "engine_yarn_ramp"
    engines = ("litgpt", "keras_hub")
    severity = "error"
    explanation = "The engine's YaRN ramp is not the one that models are trained with."
    why = "LitGPT interpolates fast pairs and keeps slow ones; keras-hub bounds the ramp at d / 2 - 1 instead of d - 1."
    remedy = "Another engine for models with YaRN."
    reports = ("keras-team/keras-hub#2981", "Lightning-AI/litgpt, litgpt/model.py", "keras-team/keras-hub#2696")
    example: ClassVar = {
        "model_type": "llama",
        "head_dim": 64,
        "max_position_embeddings": 524288,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 131072,
            "rope_theta": 10000.0,
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("yarn"):
            group = subject.group(settings)
            if group is None or not isinstance(group.stretch, Yarn):
                continue
            stretch, rope = group.stretch, group.rope
            plain, right = rope.plain(), group.stretch.frequencies(group.rope)
            low, high = stretch.ramp_ends(rope)
            ramp = stretch.interpolated(rope)
            if subject.engine == "litgpt":
                ramp = 1 - ramp
            else:
                high = min(high, rope.rotary_dim // 2 - 1)
                ramp = np.clip((np.arange(len(plain)) - low) / max(high - low, 0.001), 0, 1)
            pair, worst = furthest(plain * (1 - ramp) + plain / stretch.factor * ramp, right)
            if worst < 1e-6:
                continue
            yield self.finding(
                subject,
                settings.key("factor"),
                f"{subject.engine}'s ramp turns pair {pair} {worst:.2%} off its frequency",
                "another engine for this model",
                pair=pair,
                relative=worst,
            )
