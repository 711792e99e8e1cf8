"""Padding between tokens: a row with gaps against the same row without them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import torch

from ordinate.audit.base import Check, Outcome
from ordinate.audit.comparison import compare
from ordinate.audit.runs import Run, held_layers
from ordinate.audit.subject import Subject

# How transformers names a bias by distance that counts places, whatever positions are given.
_RELATIVE = ("relative_attention_bias", "rel_embeddings")


class MaskGaps(Check):
    name = "mask_gaps"
    title = "padding between tokens"
    explanation = "Where a mask leaves out places between tokens, the tokens have the logits of the row without them."
    remedy = "Count positions from the attention mask, real tokens only (`ordinate.positions.from_mask`)."
    kinds: ClassVar = ("padding",)
    reports: ClassVar = ("ndif-team/nnsight#673", "TransformerLensOrg/TransformerLens#1610")
    cost = 1.0

    def applies(self, subject: Subject) -> str | None:
        if subject.call.decodes and subject.carries_state:
            return "layers that carry a state from token to token read masked places too"
        windows = [] if subject.spec is None else [group.sliding_window for group in subject.spec.groups.values()]
        if any(windows):
            return "a sliding window counts places, and gaps fill it"
        if any(name.endswith(_RELATIVE) for name, _ in subject.model.named_modules()):
            return "a relative bias counts places, and gaps move them apart"
        return None if subject.takes_positions or _counts(subject) else "the model takes no positions"

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        tokens = min(128, max(subject.length - 16, subject.length // 2))
        places = _places(tokens)
        mask = torch.zeros(2, tokens + 8, dtype=torch.int64).scatter_(1, places, 1)
        ids = torch.full(mask.shape, subject.padding_id)
        ids.scatter_(1, places, subject.ids[:, :tokens])
        reference = subject.reference_for(tokens)
        outcome = self.compared(
            subject, f"{tokens} tokens and gaps of 8, 3 and 5", lambda: _read(subject, ids, mask, places), reference
        )
        yield replace(outcome, kind="padding") if outcome.status == "failed" else outcome


def _places(tokens: int) -> torch.Tensor:
    """Where the tokens of two rows stand: 8 places are left out in the first, 3 and then 5 in the second."""
    first, second = tokens // 3, 2 * tokens // 3
    third = second + min(7, (tokens - second) // 2)
    token = torch.arange(tokens)
    return torch.stack([token + 8 * (token >= first), token + 3 * (token >= second) + 5 * (token >= third)])


def _counts(subject: Subject) -> bool:
    return subject.spec is not None and any(group.scheme == "alibi" for group in subject.spec.groups.values())


def first_position(subject: Subject, tokens: int) -> int:
    """The position that a model gives the first token of a row by itself: behind the padding id in RoBERTa's family."""
    reference = subject.reference_for(tokens)
    for first in (0, subject.padding_id + 1):
        positions = (first + torch.arange(tokens)).expand(len(subject.ids), -1)
        run = subject.whole(subject.ids[:, :tokens], positions=positions)
        if compare(reference, run, distributions=False).max_difference <= subject.noise.threshold:
            return first
    return 0


def _read(subject: Subject, ids: torch.Tensor, mask: torch.Tensor, places: torch.Tensor) -> Run:
    positions = None
    if subject.takes_positions:
        positions = (mask.cumsum(-1) - 1).clamp(min=0) + first_position(subject, places.shape[1])
    cache = subject.full_cache() if subject.call.decodes else None
    logits, cache = subject.call(ids, mask=mask, positions=positions, cache=cache, use_cache=subject.call.decodes)
    there = torch.ones(places.shape, dtype=torch.bool)
    picked = logits.gather(1, places[:, :, None].expand(-1, -1, logits.shape[-1]).to(logits.device))
    layers = () if cache is None else held_layers(cache, ids.shape[1], places)
    rows = len(ids)
    return Run("gaps", picked, there, torch.zeros_like(places), layers, before=(0,) * rows, batch=rows)
