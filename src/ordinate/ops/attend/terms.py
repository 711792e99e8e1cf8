"""What is added to a block of logits, and which of them count."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ordinate.ops.attend.places import Places
from ordinate.schemes._integers import distances
from ordinate.schemes._libraries import distinct
from ordinate.schemes.base import Bias, DistanceBias


@dataclass(frozen=True)
class Rules:
    """Everything of a call that no gradient flows to, as `arguments.Call` describes it."""

    places: Places
    causal: bool
    left: int | None
    right: int | None
    keep_first: int
    mask: Tensor | None
    softcap: float | None
    reach: int
    scheme: Bias | None
    return_lse: bool


def visible(rules: Rules, rows: slice, keys: slice) -> Tensor | None:
    """Which keys a block of queries sees: broadcasts to [batch, heads, query, key]; None for all."""
    seen: Tensor | None = None
    if rules.causal or rules.left is not None or rules.right is not None:
        away = distance(rules.places, rows, keys)
        if rules.left is not None:
            seen = away >= -rules.left
        if rules.right is not None:
            seen = _both(seen, away <= rules.right)
        if rules.keep_first and seen is not None:
            seen = seen | (rules.places.keys[:, None, keys] < rules.keep_first)
        if rules.causal:
            seen = _both(seen, away <= 0)
    if rules.places.there is not None:
        seen = _both(seen, rules.places.there[:, None, keys])
    seen = None if seen is None else seen[:, None]
    return seen if rules.mask is None else _both(seen, of_block(rules.mask, rows, keys))


def _both(one: Tensor | None, other: Tensor) -> Tensor:
    return other if one is None else one & other


def distance(places: Places, rows: slice, keys: slice) -> Tensor:
    """Key minus query position: [batch or 1, query, key], int64, [token]."""
    return places.keys[:, None, keys] - places.queries[:, rows, None]


def of_block(array: Tensor, rows: slice, keys: slice) -> Tensor:
    """The part of [..., query or 1, key or 1] that a block reads."""
    if array.shape[-2] != 1:
        array = array[..., rows, :]
    return array if array.shape[-1] == 1 else array[..., keys]


def add_biases(logits: Tensor, given: Mapping[str, Tensor], rules: Rules, rows: slice, keys: slice) -> Tensor:
    """Logits with every bias added, in their own memory.

    Args:
        logits: [batch, heads, query, key]
        given: the block's part of "bias", "slopes", "by_distance", "content q", "content k" and "learned ..."
        rules: of the call
        rows, keys: where the block lies
    """
    if "bias" in given:
        logits = logits.add_(given["bias"].to(logits.dtype))
    if "slopes" in given or "by_distance" in given:
        away = distance(rules.places, rows, keys)
        if "slopes" in given:
            # [batch or 1, heads, query or 1]
            logits = logits.addcmul_(given["slopes"][..., None], away.abs().to(logits.dtype)[:, None], value=-1)
        if "by_distance" in given:
            index = away.clamp(-rules.reach, rules.reach) + rules.reach
            table = given["by_distance"].to(logits.dtype)
            logits = logits.add_(table.index_select(1, index.flatten()).view(-1, *index.shape).transpose(0, 1))
    if rules.scheme is not None:
        logits = logits.add_(_of_scheme(rules.scheme, given, rules.places, rows, keys).to(logits.dtype))
    return logits


def _of_scheme(scheme: Bias, given: Mapping[str, Tensor], places: Places, rows: slice, keys: slice) -> Tensor:
    """[batch or 1, heads, query, key]: a sequence at a time, of the keys that are there."""
    content = scheme.needs == "content"
    # Positions that all sequences share need one evaluation, unless content tells the sequences apart.
    batch = len(given["content q"]) if content else max(len(places.queries), len(places.keys))
    learned = {name.removeprefix("learned "): tensor for name, tensor in given.items() if name.startswith("learned ")}
    biases = []
    for row in range(batch):
        query = places.queries[row if len(places.queries) > 1 else 0, rows]
        key = places.keys[row if len(places.keys) > 1 else 0, keys]
        there = None
        if places.there is not None:
            there = places.there[row if len(places.there) > 1 else 0, keys].nonzero()[:, 0]
            key = key[there]
        q = k = None
        if content:
            q, k = given["content q"][row], given["content k"][row]
            k = (k if there is None else k[there]).repeat_interleave(q.shape[1] // k.shape[1], 1)
        bias = _of_sequence(scheme, learned, query, key, q, k)
        if there is not None:
            every = bias.new_zeros(*bias.shape[:2], keys.stop - keys.start)
            bias = every.index_copy(2, there, bias)
        biases.append(bias)
    return torch.stack(biases)


def _of_sequence(
    scheme: Bias, learned: Mapping[str, Tensor], query: Tensor, key: Tensor, q: Tensor | None, k: Tensor | None
) -> Tensor:
    """[heads, query, key]."""
    device = query.device
    # What neither learns nor reads content is a constant, computed in NumPy.
    library: dict[str, Any] = {"learned": learned, "xp": torch} if learned or q is not None else {"xp": np}
    places = query.cpu().numpy(), key.cpu().numpy()
    if isinstance(scheme, DistanceBias):
        # A number for each distance that occurs, then a look-up: a pair of tokens costs no formula.
        values, index = distinct(distances(*places))
        table = torch.as_tensor(scheme.by_distance(values, **library)).to(device)
        return table[:, torch.from_numpy(index).to(device)]
    return torch.as_tensor(scheme.bias(*places, q=q, k=k, **library)).to(device)
