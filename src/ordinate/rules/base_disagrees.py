"""Two bases for the same layers."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._settings import number
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class BaseDisagrees(Rule):
    name = "base_disagrees"
    explanation = "`rope_theta` stands in two places with two values."
    why = "transformers 5 reads the one inside the settings; code for version 4 reads the one outside."
    remedy = "Keep the right one, in both places where old readers matter."
    reports = ("deepspeedai/DeepSpeed#8345", "sgl-project/sglang#14745", "linkedin/Liger-Kernel#1013")
    example: ClassVar = {
        "model_type": "llama",
        "rope_theta": 10000.0,
        "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        outside = number(subject.config.get("rope_theta"))
        for settings in subject.settings if subject.kind == "huggingface" else ():
            inside = settings.number("rope_theta")
            if settings.layer_type or inside is None or outside is None or inside == outside:
                continue
            yield self.finding(
                subject,
                settings.key("rope_theta"),
                f"{settings.key('rope_theta')} is {shown(inside)} and {subject.prefix}rope_theta {shown(outside)}: "
                "transformers 5 runs the first, readers of version 4's spelling the second",
                f'"rope_theta": {shown(inside)} in both places, if that is the trained base',
                inside=inside,
                outside=outside,
            )
