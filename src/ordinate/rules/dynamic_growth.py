"""A dynamic factor that grows with the length as well."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.dynamic_ntk import DynamicNtk


class DynamicGrowth(Rule):
    name = "dynamic_growth"
    severity = "note"
    explanation = "Dynamic NTK's base grows by factor times length: far more than the stretch asks for."
    why = "2048 to 16384 tokens with factor 8 raises the base as a factor of 57 would, not 8."
    remedy = "A factor of 1 follows the length alone."
    reports = ("jquesnelle/yarn#53", "InternLM/lmdeploy#536", "huggingface/text-generation-inference#816")
    example: ClassVar = {
        "model_type": "llama",
        "max_position_embeddings": 2048,
        "rope_scaling": {"rope_type": "dynamic", "factor": 8.0, "rope_theta": 10000.0},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("dynamic"):
            group = subject.group(settings)
            if group is None or not isinstance(group.stretch, DynamicNtk) or subject.declared is None:
                continue
            growth, ratio = group.stretch.growth(subject.declared), subject.declared / group.stretch.window
            if growth <= 2 * ratio:
                continue
            yield self.finding(
                subject,
                settings.key("factor"),
                f"at {subject.declared} tokens, {ratio:.4g} times the window, the base is raised as a factor of "
                f"{growth:.4g} "
                "would raise it",
                '"factor": 1.0, with which it follows the length',
                growth=growth,
                ratio=ratio,
            )
