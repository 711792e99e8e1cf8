"""A Llama-3 band that is empty or inverted."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class Llama3Band(Rule):
    name = "llama3_band"
    severity = "error"
    explanation = "`high_freq_factor` is not above `low_freq_factor`."
    why = "Equal, they leave no band between kept and divided pairs, and code divides by their difference; inverted, "
    why += "fast pairs are interpolated."
    remedy = "1 and 4 are Llama 3's; Llama 4 has 1 and 1 on purpose."
    reports = ("tiny-vllm#1", "meta-llama/llama-models, models/llama4/args.py", "pytorch/torchtune, Llama 3.1 rope")
    example: ClassVar = {
        "model_type": "llama",
        "max_position_embeddings": 131072,
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 4.0,
            "high_freq_factor": 1.0,
            "rope_theta": 500000.0,
            "original_max_position_embeddings": 8192,
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("llama3"):
            low, high = settings.number("low_freq_factor"), settings.number("high_freq_factor")
            if low is None or high is None or high > low:
                continue
            equal = high == low
            if equal and "llama4" in subject.model_type:
                continue
            yield self.finding(
                subject,
                settings.key("high_freq_factor"),
                f"high_freq_factor {shown(high)} is {'equal to' if equal else 'below'} low_freq_factor {shown(low)}: "
                + (
                    "no pair is blended, and Meta's and TensorRT-LLM's code refuses"
                    if equal
                    else "the band is inverted"
                ),
                f'"low_freq_factor": {shown(min(low, high))}, "high_freq_factor": {shown(max(low, high))}'
                if not equal
                else '"low_freq_factor": 1.0, "high_freq_factor": 4.0',
                severity="warning" if equal else "error",
                low_freq_factor=low,
                high_freq_factor=high,
            )
