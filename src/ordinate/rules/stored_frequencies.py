"""Stored frequencies that are not those of the configuration."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from ordinate.rules._numbers import furthest, shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class StoredFrequencies(Rule):
    name = "stored_frequencies"
    explanation = "A stored `inv_freq` differs from what the configuration gives."
    why = "The weights were trained with one, and engines compute the other."
    remedy = "Correct the base or the scaling in the configuration."
    reports = ("vllm-project/speculators#574", "karpathy/llama2.c#356", "EleutherAI/gpt-neox#1168")
    example: ClassVar = {
        "config.json": {"model_type": "llama", "head_dim": 8, "rope_theta": 10000.0},
        "tensors": {"model.rotary_emb.inv_freq": ["F32", [4], [1.0, 0.0316227766, 0.001, 0.0000316227766]]},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        group = subject.rotating[0] if len(subject.rotating) == 1 else None
        right = None if group is None else subject.frequencies(group)
        if group is None or right is None:
            return
        for name, tensor in subject.files.tensors().items():
            if not name.endswith("inv_freq") or tensor.dtype not in ("F32", "F64") or tensor.shape != right.shape:
                continue
            stored = tensor.values()
            if stored is None or not np.isfinite(stored).all():
                continue
            pair, worst = furthest(stored, right)
            if worst <= 1e-4:
                continue
            plain = group.stretch is not None and furthest(stored, group.rope.plain())[1] <= 1e-4
            slowest, pairs = np.float64(stored[-1]), len(stored)
            base = slowest ** (-pairs / (pairs - 1)) if pairs > 1 and 0 < slowest < 1 else None
            meant = f"{base:.6g}" if base is not None and base < 1e30 else "the trained one"
            yield self.finding(
                subject,
                subject.settings[0].key("rope_theta") if subject.settings else subject.key("rope_theta"),
                f"tensor {name} differs from the configuration's frequencies by {worst:.0%} in pair {pair}"
                + (
                    ": it is not scaled"
                    if plain
                    else f": its base would be {meant}, and the file's is {shown(group.rope.base)}"
                ),
                'no scaling ("rope_type": "default"), if the weights were trained so'
                if plain
                else f'"rope_theta": {meant}',
                pair=pair,
                relative=worst,
            )
            return
