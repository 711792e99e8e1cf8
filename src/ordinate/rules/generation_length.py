"""Generation settings that go past the window."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._settings import number
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class GenerationLength(Rule):
    name = "generation_length"
    explanation = "generation_config.json asks for more tokens than the window has."
    why = "Text runs on past the window without a warning and loses its thread, or a server answers with nothing."
    remedy = "Lower max_length or max_new_tokens; leave room for the prompt."
    reports = (
        "vllm-project/vllm#1185",
        "vllm-project/vllm#3851",
        "huggingface/open-r1#645",
        "marin-community/marin#4737",
    )
    example: ClassVar = {
        "config.json": {"model_type": "llama", "max_position_embeddings": 4096},
        "generation_config.json": {"max_length": 8192},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        settings, window = subject.files.values("generation_config.json") or {}, subject.declared
        for key in ("max_length", "max_new_tokens", "min_length", "min_new_tokens"):
            value = number(settings.get(key))
            # As many new tokens as the window has leave no room for a prompt.
            most = None if window is None else window if key.endswith("length") else window - 1
            if value is None or most is None or value <= most:
                continue
            yield self.finding(
                subject,
                key,
                f"{key} is {shown(value)}, and the window {window} tokens",
                f'"{key}": {window if key.endswith("length") else max(1, (window or 2) // 2)}',
                file="generation_config.json",
                value=value,
                window=window,
            )
