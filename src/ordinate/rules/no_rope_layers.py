"""A list of layers without RoPE that is inverted."""

import json
from collections.abc import Iterator, Sequence
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class NoRopeLayers(Rule):
    name = "no_rope_layers"
    explanation = "`no_rope_layers` has more zeros than ones: its name suggests the opposite of its meaning."
    why = "1 is a layer that rotates, 0 one that does not; read by its name three layers of four lose position."
    remedy = "Write 1 for layers that rotate: three of four in SmolLM3 and Llama 4."
    reports = ("huggingface/transformers#43756", "airockchip/rknn-llm#501")
    example: ClassVar = {"model_type": "smollm3", "num_hidden_layers": 8, "no_rope_layers": [0, 0, 0, 1, 0, 0, 0, 1]}

    def find(self, subject: Subject) -> Iterator[Finding]:
        values = subject.config.get("no_rope_layers")
        known = subject.known
        if known is None or known.rotates != "no_rope_layers" or not isinstance(values, Sequence):
            return
        values = values[:4096]
        if isinstance(values, str) or not values or not all(v in (0, 1) for v in values if isinstance(v, int)):
            return
        turning = sum(1 for v in values if v == 1)
        if 2 * turning >= len(values) or not all(isinstance(v, int) for v in values):
            return
        inverted = [1 - int(v) for v in values]
        yield self.finding(
            subject,
            f"{subject.prefix}no_rope_layers",
            f"no_rope_layers has {turning} ones in {len(values)}: 1 is a layer that rotates, so "
            f"{len(values) - turning} layers "
            "have no position",
            f'"no_rope_layers": {json.dumps(inverted[:8])[:-1]}{", ..." if len(inverted) > 8 else ""}]',
            rotating=turning,
            layers=len(values),
        )
