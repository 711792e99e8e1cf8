"""The oldest tokens dropped and the others renumbered, by a cache that offers it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import torch

from ordinate.audit.base import Check, Outcome
from ordinate.audit.moved import TOKENS, misplaced, read_at, why_not
from ordinate.audit.runs import Run, held_layers
from ordinate.audit.subject import Subject

_DROPPED, _NEXT = 8, 4


class ContextShift(Check):
    name = "context_shift"
    title = "the oldest tokens dropped, the others renumbered"
    explanation = (
        "Where a cache drops its oldest tokens and renumbers the others, every kept key turns back by the shift, as a "
        "pure rotation, and what follows has the logits that it has without renumbering."
    )
    remedy = "Turn every kept key by the shift, with magnitude 1, or leave all positions as they were."
    kinds: ClassVar = ("eviction", "magnitude")
    reports: ClassVar = ("huggingface/transformers#33691", "NVIDIA/kvpress#31", "ggml-org/llama.cpp#3272")
    cost = 0.5

    def applies(self, subject: Subject) -> str | None:
        not_placed = why_not(subject)
        if not_placed is not None:
            return not_placed
        _, cache = subject.call(subject.ids[:, :2], use_cache=True)
        return None if callable(getattr(cache, "shift", None)) else "the model's cache offers no shift"

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        tokens = min(2 * TOKENS, subject.length - _NEXT)
        case = f"{_DROPPED} of {tokens} tokens dropped"
        before, cache = self._filled(subject, tokens)
        cache.shift(_DROPPED)
        layers = held_layers(cache, tokens - _DROPPED)
        after = replace(before, layers=layers)
        kept = replace(
            before,
            layers=tuple(
                None if held is None else replace(held, keys=held.keys[:, _DROPPED:], values=held.values[:, _DROPPED:])
                for held in before.layers
            ),
        )
        found = misplaced(subject, kept, after, -_DROPPED)
        if found is not None:
            kind = "magnitude" if found.kind == "magnitude" else "eviction"
            yield self.failed(case, kind, found.where, f"{case}: {found.evidence}", radians=found.radians)
            return
        yield self.passed(case, f"{case}: keys are turned back by {_DROPPED} positions")
        if subject.windows:
            # Which tokens a window shows after a shift is a matter of the cache.
            return
        yield from self._followed(subject, case, tokens, cache)

    def _filled(self, subject: Subject, tokens: int) -> tuple[Run, Any]:
        logits, cache = subject.call(subject.ids[:, :tokens], use_cache=True)
        there = torch.ones(logits.shape[:2], dtype=torch.bool)
        run = Run("one pass", logits, there, torch.zeros_like(there, dtype=torch.int64), held_layers(cache, tokens))
        return run, cache

    def _followed(self, subject: Subject, case: str, tokens: int, cache: Any) -> Iterator[Outcome]:
        ids = subject.ids[:, tokens : tokens + _NEXT]
        decoded = self.compared(
            subject, "no shift", lambda: subject.chunked([tokens, _NEXT], ids=subject.ids[:, : tokens + _NEXT])
        )
        far = misplaced(subject, read_at(subject, 0, _NEXT), read_at(subject, tokens, _NEXT), tokens)
        if decoded.status != "passed" or far is not None:
            # Decoding or turning itself is at fault: other checks say how.
            return
        expected = _not_seeing(subject, tokens)
        there = torch.ones(ids.shape, dtype=torch.bool)
        starts = torch.zeros(ids.shape, dtype=torch.int64)
        outcome = self.compared(
            subject,
            f"{_NEXT} tokens after {case}",
            lambda: Run("shifted", subject.call(ids, cache=cache, use_cache=True)[0], there, starts, batch=len(ids)),
            Run("not seeing them", expected, there, starts),
        )
        yield replace(outcome, kind="eviction") if outcome.status == "failed" else outcome


def _not_seeing(subject: Subject, tokens: int) -> torch.Tensor:
    """The logits of the tokens that follow in one pass in which they do not see the first ones."""
    end = tokens + _NEXT
    seen = torch.ones(end, end, dtype=torch.bool).tril()
    seen[tokens:, :_DROPPED] = False
    mask = torch.zeros(end, end, dtype=subject.dtype).masked_fill(~seen, torch.finfo(subject.dtype).min)
    ids = subject.ids[:, :end]
    positions = torch.arange(end).expand(len(ids), -1)
    logits, _ = subject.call(ids, mask=mask.expand(len(ids), 1, -1, -1), positions=positions)
    return logits[:, tokens:]
