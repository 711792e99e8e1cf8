"""A tokenizer that lets through more than the window."""

from collections.abc import Iterator
from typing import Any, ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._settings import number
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule

UNLIMITED = 1e9


class TokenizerLength(Rule):
    name = "tokenizer_length"
    explanation = "The tokenizer's `model_max_length` is longer than the window."
    why = "Nothing is cut before the model, and positions past the window are read as if they were trained."
    remedy = "Set model_max_length to the window."
    reports = ("huggingface/sentence-transformers#4060", "vllm-project/vllm#2518", "jundot/omlx#1687")
    example: ClassVar = {
        "config.json": {"model_type": "llama", "max_position_embeddings": 2048},
        "tokenizer_config.json": {"model_max_length": 4096},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        tokenizer = subject.files.values("tokenizer_config.json") or {}
        longest, window = number(tokenizer.get("model_max_length")), subject.declared
        if longest is None or window is None or not window < longest < UNLIMITED:
            return
        if any(
            g.scheme == "learned" and longest <= window + getattr(g.encoding, "offset", 0) for g in _groups(subject)
        ):
            return
        yield self.finding(
            subject,
            "model_max_length",
            f"model_max_length is {shown(longest)}, and the window {window} tokens: {shown(longest - window)} "
            "more pass",
            f'"model_max_length": {window}',
            file="tokenizer_config.json",
            model_max_length=longest,
            window=window,
        )


def _groups(subject: Subject) -> list[Any]:
    return [] if subject.spec is None else list(subject.spec.groups.values())
