"""Tokens in the order of context-parallel ranks, with the positions that each rank must give them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import torch

from ordinate.audit.base import Check, Outcome, Refusal
from ordinate.audit.noise import FACTOR
from ordinate.audit.runs import Run
from ordinate.audit.subject import Subject
from ordinate.positions.shards import LAYOUTS, shard_indices

_RANKS = 2
_BY_SLOT = (
    "the model hides every token that comes in a later slot, whatever mask it is given: its tokens cannot be computed "
    "out of their order"
)


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
        by_slot: bool | None = None
        for layout in LAYOUTS:
            case = f"{layout}, {_RANKS} ranks"
            order = torch.from_numpy(shard_indices(tokens, _RANKS, layout).reshape(-1).copy())
            outcome = self.compared(subject, case, lambda order=order: _in_order(subject, order), reference)
            if outcome.status != "failed":
                yield outcome
                continue
            by_slot = _hides_by_slot(subject, tokens) if by_slot is None else by_slot
            if by_slot:
                yield Outcome(self.name, case, "not applicable", evidence=_BY_SLOT)
            else:
                yield replace(outcome, kind=self._kind(subject, tokens))

    def _kind(self, subject: Subject, tokens: int) -> str:
        """Whether given positions are never used, or only those of tokens that do not follow each other."""
        from ordinate.audit.moved import misplaced, read_at, why_not

        if why_not(subject) is not None:
            return "shards"
        half = tokens // 2
        found = misplaced(subject, read_at(subject, 0, half), read_at(subject, half, half), half)
        return "positions_ignored" if found is not None and found.kind == "positions_ignored" else "shards"


def _hides_by_slot(subject: Subject, tokens: int) -> bool:
    """Whether no token ever sees one that comes in a later slot and stands at an earlier position.

    The second third of a text comes first, then the first, and the last where it belongs. Other tokens in the first
    third must change the logits of the second; a model that hides by slot, in all heads of all layers, keeps every bit
    of them. A mixture of experts does not, as it computes all tokens together: other tokens in the last third, which
    neither of the two may see, change its logits by as little.
    """
    third = tokens // 3
    first, second, last = torch.arange(tokens).tensor_split([third, 2 * third])
    order = torch.cat([second, first, last])
    one = _in_order(subject, order)
    changes = []
    for changed, kept in ((first, second), (last, torch.cat([first, second]))):
        ids = subject.ids[:, :tokens].clone()
        ids[:, changed] = subject.other_ids(5, ids[:, changed].numel()).reshape(len(ids), -1)
        another = _in_order(subject, order, ids)
        changes.append(float((another.logits[:, kept] - one.logits[:, kept]).float().abs().max()))
    seen, rounding = changes
    return seen <= FACTOR * rounding


def _in_order(subject: Subject, order: torch.Tensor, ids: torch.Tensor | None = None) -> Run:
    """One pass over tokens in this order, put back in their own: the subject's ids, or others."""
    tokens = len(order)
    hidden = torch.finfo(subject.dtype).min
    seen = order[None, :] <= order[:, None]
    mask = torch.zeros(tokens, tokens, dtype=subject.dtype).masked_fill(~seen, hidden)[None, None]
    ids = subject.ids if ids is None else ids
    rows = len(ids)
    logits, _ = subject.call(ids[:, order], mask=mask.expand(rows, -1, -1, -1), positions=order.expand(rows, -1))
    back = torch.empty_like(order)
    back[order] = torch.arange(tokens)
    there = torch.ones(rows, tokens, dtype=torch.bool)
    if logits.shape[1] != tokens:
        raise Refusal(f"{tokens} tokens gave {logits.shape[1]} outputs")
    return Run("in another order", logits[:, back], there, torch.zeros(rows, tokens, dtype=torch.int64), batch=rows)
