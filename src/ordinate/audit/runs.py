"""What one way of computing left behind, token by token."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Held:
    """Keys and values of one layer as a cache held them, padding left out.

    Args:
        keys: [rows, tokens, heads, head_dim]
        values: [rows, tokens, heads, value_dim]
        there: [rows, tokens], bool: which of the tokens the layer still held
    """

    keys: Tensor
    values: Tensor
    there: Tensor


@dataclass(frozen=True)
class Run:
    """The outputs of one way of computing, aligned so that index t of a row is its token t.

    Args:
        name: what was done, in a few words
        logits: [rows, tokens, vocabulary], or the hidden states of a model without a head
        there: [rows, tokens], bool: which tokens were computed
        starts: [rows, tokens], int64: the first token of the pass in which each was computed
        layers: a layer each; None where a layer holds no keys; empty where no cache was asked for
        before: [rows], how many places of the batch's row lie before each row's first token: padding, or other
            documents, [token]
        of: for each row, which of the subject's rows it is; none where it is row for row
        whose: for each row, which of the subject's rows its words are from; as `of` where not given
        batch: rows that were computed together
        cache: the cache itself, to go on with
    """

    name: str
    logits: Tensor
    there: Tensor
    starts: Tensor
    layers: tuple[Held | None, ...] = ()
    before: tuple[int, ...] = (0,)
    of: tuple[int, ...] = ()
    whose: tuple[int, ...] = ()
    batch: int = 1
    cache: Any = field(default=None, repr=False, compare=False)

    @property
    def rows(self) -> int:
        return self.logits.shape[0]

    @property
    def tokens(self) -> int:
        return self.logits.shape[1]

    def reference_row(self, row: int) -> int:
        """Which of the subject's rows a row is."""
        return self.of[row] if self.of else row

    def words_row(self, row: int) -> int:
        """Which of the subject's rows a row's words are from."""
        return self.whose[row] if self.whose else self.reference_row(row)

    def row(self, row: int) -> "Run":
        """One row as a run of its own; its cache stays behind."""
        one = slice(row, row + 1)
        layers = tuple(
            None if held is None else Held(held.keys[one], held.values[one], held.there[one]) for held in self.layers
        )
        of = (self.reference_row(row),)
        whose = (self.words_row(row),)
        logits, there, starts = self.logits[one], self.there[one], self.starts[one]
        return Run(self.name, logits, there, starts, layers, self.before[one], of, whose, self.batch)

    def first(self, tokens: int) -> "Run":
        """The first tokens of each row; its cache stays behind."""
        layers = tuple(
            None if held is None else Held(held.keys[:, :tokens], held.values[:, :tokens], held.there[:, :tokens])
            for held in self.layers
        )
        logits, there, starts = self.logits[:, :tokens], self.there[:, :tokens], self.starts[:, :tokens]
        return Run(self.name, logits, there, starts, layers, self.before, self.of, self.whose, self.batch)


def held_layers(cache: Any, tokens: int, indices: Tensor | None = None) -> tuple[Held | None, ...]:
    """What a transformers cache holds, in the order of tokens.

    Args:
        cache: after `tokens` places of each row went through it
        tokens: places of a row so far, padding included
        indices: [rows, tokens of a row], the place of each token in its row, -1 where it has none; None where the
            places are the tokens

    Returns:
        a layer each; None where a layer keeps something else than keys and values of shape [rows, heads, places, dim]
    """
    cache = getattr(cache, "self_attention_cache", cache)
    return tuple(_held(layer, tokens, indices) for layer in cache.layers)


def _held(layer: Any, tokens: int, indices: Tensor | None) -> Held | None:
    keys, values = getattr(layer, "keys", None), getattr(layer, "values", None)
    if not all(isinstance(tensor, Tensor) and tensor.ndim == 4 for tensor in (keys, values)):
        return None
    assert isinstance(keys, Tensor) and isinstance(values, Tensor)  # noqa: S101, PT018 - for the type checker
    # A sliding layer holds the last tokens only.
    start = tokens - keys.shape[2]
    if start < 0:
        return None
    rows = keys.shape[0]
    places = torch.arange(tokens).expand(rows, -1) if indices is None else indices.to("cpu")
    there = places >= start
    slots = (places - start).clamp(min=0).to(keys.device)

    def gathered(tensor: Tensor) -> Tensor:
        by_token = tensor.detach().transpose(1, 2)
        picked = slots[:, :, None, None].expand(-1, -1, *by_token.shape[2:])
        return by_token.gather(1, picked)

    return Held(gathered(keys), gathered(values), there)


def stacked(runs: Sequence[Run], name: str) -> Run:
    """Runs of one row and equal length as the rows of one; their caches stay behind."""
    layers = []
    for column in zip(*(run.layers for run in runs), strict=True):
        held = [layer for layer in column if layer is not None]
        whole = len(held) == len(column)
        layers.append(Held(*(torch.cat([getattr(h, n) for h in held]) for n in _HELD)) if whole else None)
    logits, there, starts = (torch.cat([getattr(run, n) for run in runs]) for n in ("logits", "there", "starts"))
    return Run(name, logits, there, starts, tuple(layers), sum((run.before for run in runs), ()))


def followed(before: Run, after: Run) -> Run:
    """A run and the one that went on with its cache as one: the second's layers and cache, the tokens of both."""
    past = before.tokens
    return replace(
        after,
        name=before.name,
        logits=torch.cat([before.logits, after.logits[:, past:]], 1),
        there=torch.cat([before.there, after.there[:, past:]], 1),
        starts=torch.cat([before.starts, after.starts[:, past:]], 1),
    )


_HELD = ("keys", "values", "there")


def joined(parts: Sequence[Tensor], dim: int = 1) -> Tensor:
    """Chunks of tokens one after another."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), dim)
