"""A scaling method that changes nothing."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class FactorOne(Rule):
    name = "factor_one"
    severity = "note"
    explanation = "A scaling method is set whose factor is 1: it changes nothing."
    why = "Engines still leave their fast paths for it, and readers take the model for a stretched one."
    remedy = 'Write `"rope_type": "default"`, or the factor that is meant.'
    reports = ("vllm-project/vllm#18728", "huggingface/transformers#38224")
    example: ClassVar = {"model_type": "llama", "rope_scaling": {"rope_type": "linear", "factor": 1.0}}

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("linear", "dynamic", "yarn", "llama3"):
            if settings.number("factor") == 1:
                yield self.finding(
                    subject,
                    settings.key("factor"),
                    f"{settings.key('factor')} is 1: {settings.type} leaves all frequencies as they are",
                    '"rope_type": "default", or the factor that is meant',
                    factor=1.0,
                )
