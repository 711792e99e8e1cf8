"""Tokens one by one on a cache against one pass."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.audit.base import ORDINARY, Check, Outcome
from ordinate.audit.subject import Subject

# One token takes nearly the time of many where weights are read from memory.
_MOST = 24


class TokenByToken(Check):
    name = "token_by_token"
    title = "decoding token by token"
    explanation = "Tokens that are decoded one by one have the logits that they have in one pass."
    remedy = "Take a step's position from the tokens in the cache, and turn q and k by it."
    kinds: ClassVar = ORDINARY
    reports: ClassVar = ("Blaizzy/mlx-vlm#1983", "RobertCsordas/moeut#6", "microsoft/onnxruntime-genai#2354")
    cost = 2.0

    def applies(self, subject: Subject) -> str | None:
        return None if subject.call.keeps_cache else "the model keeps no cache"

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        steps = min(_MOST, subject.length // 2)
        start = subject.ids[:, :steps]
        yield self.compared(subject, f"the first {steps} tokens one by one", lambda: subject.chunked(1, ids=start))
        rest = subject.length - steps
        yield self.compared(
            subject, f"the last {steps} tokens one by one", lambda: subject.chunked([rest, *[1] * steps])
        )
