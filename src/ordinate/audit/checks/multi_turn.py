"""Turns of a conversation appended to one cache against the conversation encoded anew."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.audit.base import ORDINARY, Check, Outcome
from ordinate.audit.subject import Subject

_MOST = 256
_ANSWER = 4


class MultiTurn(Check):
    name = "multi_turn"
    title = "turns appended to one cache"
    explanation = (
        "Turns that are appended to a cache, answers token by token, have the logits of one pass over them all."
    )
    remedy = "Take the position of a turn's first token from the tokens in the cache, answers included."
    kinds: ClassVar = ORDINARY
    reports: ClassVar = ("huggingface/transformers#43952", "Blaizzy/mlx-vlm#1621", "microsoft/onnxruntime-genai#2354")
    cost = 1.0

    def applies(self, subject: Subject) -> str | None:
        return None if subject.call.keeps_cache else "the model keeps no cache"

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        tokens = min(_MOST, subject.length)
        turn = tokens // 4
        answer = [1] * min(_ANSWER, turn - 1)
        sizes = [size for _ in range(3) for size in (turn - len(answer), *answer)]
        ids = subject.ids[:, :tokens]
        yield self.compared(
            subject,
            f"3 turns of {turn} tokens and the rest",
            lambda: subject.chunked([*sizes, tokens - 3 * turn], ids=ids),
        )
