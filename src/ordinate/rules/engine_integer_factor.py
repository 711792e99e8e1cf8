"""An integer where an engine asks for a float."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class EngineIntegerFactor(Rule):
    name = "engine_integer_factor"
    engines = ("vllm", "sglang")
    severity = "error"
    explanation = "The factor of linear scaling is an integer, and the engine takes a float or a list."
    why = "It asks isinstance(factor, float), takes 4 for a list, and fails with a TypeError."
    remedy = "Write a point: 4.0."
    reports = ("vllm-project/vllm 0.33, rotary_embedding/linear_scaling_rope.py", "sgl-project/sglang 0.5.23")
    example: ClassVar = {
        "model_type": "llama",
        "rope_scaling": {"rope_type": "linear", "factor": 4},
        "rope_theta": 10000.0,
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("linear") if subject.kind == "huggingface" else ():
            factor = settings.values.get("factor")
            if isinstance(factor, int) and not isinstance(factor, bool) and 1 <= factor < 10**9:
                yield self.finding(
                    subject,
                    settings.key("factor"),
                    f"factor {factor} is an integer: {subject.engine} fails with a TypeError",
                    f'"factor": {factor}.0',
                    factor=factor,
                )
