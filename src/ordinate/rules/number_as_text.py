"""A number that is written as a string."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._settings import number
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule

NUMBERS = (
    *("rope_theta", "partial_rotary_factor", "factor", "original_max_position_embeddings", "attention_factor"),
    *("beta_fast", "beta_slow", "mscale", "mscale_all_dim", "low_freq_factor", "high_freq_factor"),
)
OUTSIDE = (
    *("rope_theta", "max_position_embeddings", "original_max_position_embeddings", "partial_rotary_factor"),
    *("head_dim", "hidden_size", "num_attention_heads", "num_key_value_heads", "sliding_window", "rotary_pct"),
)


class NumberAsText(Rule):
    name = "number_as_text"
    severity = "error"
    explanation = "A number is written as a string."
    why = "YAML reads 1e6 as text: one engine converts it, another refuses, a third compares text with a number."
    remedy = "Write it without quotes, and with a point: 1000000.0."
    reports = ("hiyouga/LlamaFactory#4984", "PyYAML 6, which reads 1e6 as a string")
    example: ClassVar = {"model_type": "llama", "rope_theta": "1e6"}

    def find(self, subject: Subject) -> Iterator[Finding]:
        if subject.kind == "gguf":
            return
        places = [(f"{subject.prefix}{key}", subject.config.get(key)) for key in OUTSIDE]
        places += [(s.key(key), s.values.get(key)) for s in subject.settings for key in NUMBERS]
        for place, value in places:
            if isinstance(value, str) and (read := _read(value)) is not None:
                word = place.rpartition(".")[2]
                yield self.finding(
                    subject,
                    place,
                    f"{place} is the string {value[:40]!r}, and must be a number",
                    f'"{word}": {shown(read)}',
                    value=read,
                )


def _read(text: str) -> float | None:
    try:
        return number(float(text[:60]))
    except ValueError:
        return None
