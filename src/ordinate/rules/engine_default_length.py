"""A server that serves far less than the window."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule

DEFAULT = 4096


class EngineDefaultLength(Rule):
    name = "engine_default_length"
    engines = ("ollama",)
    severity = "note"
    explanation = "Ollama serves 4096 tokens unless num_ctx is set, and cuts longer prompts without an error."
    why = "A prompt past the limit loses its first half; the reply looks as if the model had forgotten."
    remedy = "Set num_ctx, and compare tokens used with tokens sent."
    reports = ("ollama/ollama#8099", "ollama/ollama#17427", "ollama/ollama#17889")
    example: ClassVar = {"model_type": "llama", "max_position_embeddings": 8192}

    def find(self, subject: Subject) -> Iterator[Finding]:
        if subject.declared is not None and subject.declared > DEFAULT:
            yield self.finding(
                subject,
                subject.key("max_position_embeddings"),
                f"the window is {subject.declared} tokens, and Ollama serves {DEFAULT} unless told otherwise",
                f"PARAMETER num_ctx {subject.declared}",
                window=subject.declared,
                default=DEFAULT,
            )
