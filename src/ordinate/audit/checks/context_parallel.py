"""Tokens in the order of context-parallel ranks, with the positions that each rank must give them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import torch

from ordinate.audit.base import Check, Outcome, Refusal
from ordinate.audit.runs import Run
from ordinate.audit.subject import Subject
from ordinate.positions.shards import LAYOUTS, shard_indices

_RANKS = 2


class ContextParallel(Check):
    name = "context_parallel"
    title = "tokens in the order of context-parallel ranks"
    explanation = (
        "Ranks of a context-parallel group hold tokens that do not follow each other. With their global positions "
        "and a mask by position, every token has the logits of one pass."
    )
    remedy = "Use the positions that are given, for each token its own (`ordinate.positions.shard`)."
    kinds: ClassVar = ("shards", "positions_ignored")
    reports: ClassVar = ("NVIDIA/Megatron-LM#560", "ByteDance-Seed/VeOmni#448", "deepspeedai/Megatron-DeepSpeed#392")
    cost = 1.5

    def applies(self, subject: Subject) -> str | None:
        if not subject.takes_positions:
            return "the model takes no positions"
        if not subject.causal:
            return "a model without a causal mask reads tokens in any order"
        if subject.carries_state:
            return "layers that carry a state from token to token need them in their order"
        return None

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        windows = [] if subject.spec is None else [group.sliding_window for group in subject.spec.groups.values()]
        tokens = min([128, subject.length, *(window for window in windows if window)]) // (2 * _RANKS) * 2 * _RANKS
        reference = subject.reference_for(tokens)
        for layout in LAYOUTS:
            order = torch.from_numpy(shard_indices(tokens, _RANKS, layout).reshape(-1).copy())
            outcome = self.compared(
                subject, f"{layout}, {_RANKS} ranks", lambda order=order: _in_order(subject, order), reference
            )
            failed = outcome.status == "failed"
            yield replace(outcome, kind=self._kind(subject, tokens)) if failed else outcome

    def _kind(self, subject: Subject, tokens: int) -> str:
        """Whether given positions are never used, or only those of tokens that do not follow each other."""
        from ordinate.audit.moved import misplaced, read_at, why_not

        if why_not(subject) is not None:
            return "shards"
        half = tokens // 2
        found = misplaced(subject, read_at(subject, 0, half), read_at(subject, half, half), half)
        return "positions_ignored" if found is not None and found.kind == "positions_ignored" else "shards"


def _in_order(subject: Subject, order: torch.Tensor) -> Run:
    """One pass over tokens in this order, put back in their own."""
    tokens = len(order)
    hidden = torch.finfo(subject.dtype).min
    seen = order[None, :] <= order[:, None]
    mask = torch.zeros(tokens, tokens, dtype=subject.dtype).masked_fill(~seen, hidden)[None, None]
    rows = len(subject.ids)
    logits, _ = subject.call(
        subject.ids[:, order], mask=mask.expand(rows, -1, -1, -1), positions=order.expand(rows, -1)
    )
    back = torch.empty_like(order)
    back[order] = torch.arange(tokens)
    there = torch.ones(rows, tokens, dtype=torch.bool)
    if logits.shape[1] != tokens:
        raise Refusal(f"{tokens} tokens gave {logits.shape[1]} outputs")
    return Run("in another order", logits[:, back], there, torch.zeros(rows, tokens, dtype=torch.int64), batch=rows)
