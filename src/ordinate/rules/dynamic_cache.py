"""Dynamic scaling beside a cache of rotated keys."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from ordinate.rules._numbers import shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.dynamic_ntk import DynamicNtk


class DynamicCache(Rule):
    name = "dynamic_cache"
    explanation = "Dynamic NTK changes the base as a text grows, and cached keys keep the base of their time."
    why = "No engine rotates cached keys anew: queries and keys then differ in more than their distance."
    remedy = (
        "In transformers: `ordinate.transformers.use_cache(model)`, which turns keys when they are read. Elsewhere: "
        "yarn, a fixed larger base, or an engine that caches keys before rotation."
    )
    reports = ("huggingface/transformers#25104", "ggml-org/llama.cpp#2060", "NVIDIA/TensorRT-LLM#1299")
    example: ClassVar = {
        "model_type": "llama",
        "max_position_embeddings": 2048,
        "rope_scaling": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("dynamic"):
            group = subject.group(settings)
            if group is None or not isinstance(group.stretch, DynamicNtk) or subject.declared is None:
                continue
            window, last = group.stretch.window, subject.declared
            before = subject.frequencies(group, window)
            after = subject.frequencies(group, last) if last > window else None
            if before is None or after is None:
                continue
            error = float(np.abs((before - after) * (window - 1)).max())
            yield self.finding(
                subject,
                settings.key("rope_type" if "rope_type" in settings.values else "type"),
                f"a key cached at position {window - 1} is off by up to {error:.3g} rad once the text has "
                f"{last} tokens: its "
                f"base was {shown(group.rope.base)}, the query's is larger",
                f'"rope_type": "yarn", "factor": {shown(group.stretch.factor)}, '
                f'"original_max_position_embeddings": {window}',
                angle_error=error,
                window=window,
                length=last,
            )
