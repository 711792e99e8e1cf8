"""A tokenizer that cuts long before the window's end."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._settings import number
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class TokenizerShort(Rule):
    name = "tokenizer_short"
    severity = "note"
    explanation = "The tokenizer's `model_max_length` is at most half the window."
    why = "Pipelines that truncate cut texts there without a word, and the longer window goes unused."
    remedy = "Set model_max_length to the window."
    reports = ("huggingface/sentence-transformers#4060", "raullenchai/Rapid-MLX#1381", "vllm-project/vllm#2565")
    example: ClassVar = {
        "config.json": {"model_type": "llama", "max_position_embeddings": 8192},
        "tokenizer_config.json": {"model_max_length": 512},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        tokenizer = subject.files.values("tokenizer_config.json") or {}
        longest, window = number(tokenizer.get("model_max_length")), subject.declared
        if longest is None or window is None or not 0 < 2 * longest <= window:
            return
        yield self.finding(
            subject,
            "model_max_length",
            f"model_max_length is {shown(longest)}, and the window {window} tokens: texts are cut at "
            f"{longest / window:.0%} of it",
            f'"model_max_length": {window}',
            file="tokenizer_config.json",
            model_max_length=longest,
            window=window,
        )
