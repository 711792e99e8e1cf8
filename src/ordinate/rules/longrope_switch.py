"""LongRoPE, whose frequencies change in the middle of a text."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.longrope import LongRope


class LongropeSwitch(Rule):
    name = "longrope_switch"
    severity = "note"
    explanation = "LongRoPE changes its frequencies when a text crosses the trained length."
    why = "Keys cached before keep the short factors; in a batch one long text changes the factors of all."
    remedy = (
        "In transformers: `ordinate.transformers.use_cache(model)`, which turns keys when they are read. Elsewhere: "
        "one list for a whole text, by a prefill past the trained length, or keys that are kept un-rotated."
    )
    reports = ("vllm-project/vllm#27414", "vllm-project/vllm#19489", "unslothai/unsloth#1199")
    example: ClassVar = {
        "model_type": "llama",
        "head_dim": 8,
        "max_position_embeddings": 131072,
        "rope_scaling": {
            "rope_type": "longrope",
            "rope_theta": 10000.0,
            "original_max_position_embeddings": 4096,
            "short_factor": [1.0, 1.0, 1.0, 1.0],
            "long_factor": [2.0, 4.0, 8.0, 16.0],
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("longrope"):
            group = subject.group(settings)
            if group is None or not isinstance(group.stretch, LongRope):
                continue
            short, long = np.asarray(group.stretch.short_factor), np.asarray(group.stretch.long_factor)
            jump = np.abs(long / short - 1)
            if not jump.max(initial=0) > 0:
                continue
            pair, original = int(jump.argmax()), group.stretch.original_max_position_embeddings
            yield self.finding(
                subject,
                settings.key("long_factor"),
                f"at token {original + 1} pair {pair} begins to turn {long[pair] / short[pair]:.4g} times "
                "slower than in the "
                f"{original} cached keys before it",
                f"a server's length of at most {original}, or one list for the whole text",
                original_max_position_embeddings=original,
                ratio=float(long[pair] / short[pair]),
            )
