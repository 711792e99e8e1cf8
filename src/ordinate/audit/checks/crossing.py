"""Decoding across the length past which frequencies change."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from ordinate.audit.base import Check, Outcome
from ordinate.audit.runs import Run, stacked
from ordinate.audit.sizes import crossing
from ordinate.audit.subject import Subject
from ordinate.caches import Frozen, Recompute

_BEFORE, _BEYOND = 4, 8
_AFFORDABLE = 2e12


class Crossing(Check):
    name = "crossing"
    title = "decoding past the length where frequencies change"
    explanation = (
        "Under Dynamic NTK and LongRoPE, tokens that are decoded across the switch have the logits of one pass over "
        "the same text: the cache follows one regime."
    )
    remedy = (
        "Hold one regime for the life of a sequence: `ordinate.transformers.use_cache(model, regime=...)` with "
        '"frozen", "per_row" or "recompute".'
    )
    kinds: ClassVar = ("length_switch",)
    reports: ClassVar = ("vllm-project/vllm#27414", "unslothai/unsloth#1199", "huggingface/transformers#25104")
    cost = 5.0
    late = True

    def applies(self, subject: Subject) -> str | None:
        if subject.crossing is None:
            frozen = subject.caching is not None and isinstance(subject.caching.regime, Frozen)
            if frozen and crossing(subject.spec) is not None:
                return f"the cache is frozen at {subject.window} tokens, fewer than this takes"
            return "no frequency depends on the length"
        if not subject.call.keeps_cache:
            return "the model keeps no cache"
        size = sum(parameter.numel() for parameter in subject.model.parameters())
        if 2.0 * size * (subject.crossing + _BEYOND) > _AFFORDABLE:
            return f"a text of {subject.crossing + _BEYOND} tokens takes too long for a model of this size"
        return None

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        assert subject.crossing is not None  # noqa: S101 - `applies` has said so
        ids = subject.other_ids(0, 2 * (subject.crossing + _BEYOND)).reshape(2, -1)
        begun = subject.crossing - _BEFORE
        for tokens in (*(subject.crossing + step for step in (-1, 0, 1)), subject.crossing + _BEYOND):
            text = ids[:, :tokens]
            sizes = [begun, *[1] * (tokens - begun)]
            reference = _reference(subject, text, begun)

            def decoded(text=text, sizes=sizes) -> Run:
                run = subject.chunked(sizes, ids=text)
                # The prompt was read when the text was shorter: its tokens are those of another text.
                run.there[:, :begun] = False
                return run

            outcome = self.compared(
                subject, f"decoded to {tokens} tokens, switch at {subject.crossing}", decoded, reference
            )
            yield replace(outcome, kind="length_switch") if outcome.status == "failed" else outcome


def _reference(subject: Subject, text: Tensor, begun: int) -> Run:
    """What decoding must equal: one pass over the text; under "recompute" one pass up to each token that is decoded."""
    run = stacked([subject.whole(row[None]) for row in text], "one pass")
    if subject.caching is None or not isinstance(subject.caching.regime, Recompute):
        return run
    # This regime turns a token by the length reached when it is decoded, never by that of tokens after it.
    ends = range(begun + 1, text.shape[1] + 1)
    decoded = [torch.cat([subject.whole(row[None, :end]).logits[:, -1:] for row in text]) for end in ends]
    return replace(run, name="one pass up to each token", logits=torch.cat([run.logits[:, :begun], *decoded], 1))
