"""LongRoPE lists of the wrong length."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from ordinate.rules._settings import Settings, number
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class LongropeLists(Rule):
    name = "longrope_lists"
    severity = "error"
    explanation = "`short_factor` or `long_factor` has not one divisor for each pair."
    why = "Engines fail, broadcast or read past the list; half the list is what a partial head needs."
    remedy = "One number a pair: head_dim times the rotary share, halved."
    reports = ("vllm-project/vllm#27414", "unslothai/unsloth#1199", "huggingface/transformers 5.24, validation")
    example: ClassVar = {
        "model_type": "llama",
        "head_dim": 8,
        "max_position_embeddings": 131072,
        "rope_scaling": {
            "rope_type": "longrope",
            "rope_theta": 10000.0,
            "original_max_position_embeddings": 4096,
            "short_factor": [1.0, 1.0, 1.0],
            "long_factor": [2.0, 4.0, 8.0, 16.0],
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("longrope"):
            lists = {key: settings.values.get(key) for key in ("short_factor", "long_factor")}
            lengths = {key: len(v) for key, v in lists.items() if isinstance(v, Sequence) and not isinstance(v, str)}
            pairs = _pairs(subject, settings) or max(lengths.values(), default=0)
            for key, length in lengths.items():
                if length != pairs:
                    yield self.finding(
                        subject,
                        settings.key(key),
                        f"{settings.key(key)} has {length} divisors, and {pairs} pairs turn",
                        f"{key} with {pairs} numbers, one a pair",
                        divisors=length,
                        pairs=pairs,
                    )


def _pairs(subject: Subject, settings: Settings) -> int | None:
    head = subject.number("head_dim")
    if head is None:
        hidden, heads = subject.number("hidden_size"), subject.number("num_attention_heads")
        head = hidden // heads if hidden and heads else None
    latent = number(subject.get("qk_rope_head_dim"))
    share = settings.number("partial_rotary_factor") or number(subject.config.get("partial_rotary_factor")) or 1.0
    width = latent if latent is not None else None if head is None else head * share
    return int(width) // 2 if width is not None and 2 <= width <= 65536 else None
