"""A cache of transformers that knows where each of its entries stands, and what its keys were turned by."""

from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import Tensor
from transformers.cache_utils import (
    Cache,
    CacheLayerMixin,
    DynamicLayer,
    DynamicSlidingWindowLayer,
    StaticLayer,
    StaticSlidingWindowLayer,
)

from ordinate.caches import Stamp
from ordinate.errors import InputError, positive_integer
from ordinate.transformers.cropping import check_crop


class PositionCache(Cache):
    """Keys and values in transformers' own layers, with a stamp for each group of layers and a position for each entry.

    `ordinate.transformers.use_cache` makes one wherever a model makes a cache; `Caching.new_cache` makes one by hand.
    It is read only by a model whose groups and regime are those of its stamps. Every operation of a `Cache`
    (`crop`, `reorder_cache`, `batch_repeat_interleave`, `batch_select_indices`, `reset`) moves positions with keys.

    Args:
        stamps: what keys are, by the name of the group of layers
        held: an empty cache of transformers (`DynamicCache`, `StaticCache`, ...), whose layers hold keys and values

    Raises:
        InputError: a cache that is not empty
    """

    def __init__(self, stamps: Mapping[str, Stamp], held: Cache) -> None:
        super().__init__(layers=[])
        if isinstance(held, PositionCache) or (held.layers and _length(held)):
            raise InputError(
                f"{type(held).__name__} must be empty and without stamps to hold a PositionCache's keys, got "
                f"{_length(held)} entries"
            )
        # Whatever kind of cache it is, its own methods work on its own attributes.
        self.__dict__.update(held.__dict__)
        self.stamps = dict(stamps)
        # [batch, 1, entries, 1 + groups]: position + 1, 0 for padding; and the length that turned each group's keys.
        # Its values are the text, where it is kept.
        self._history = DynamicLayer()
        # Positions + 1 again, dropped and moved as each kind of layer does with its keys.
        self._shadows: dict[tuple[Any, ...], CacheLayerMixin] = {}
        self._here: dict[tuple[Any, ...], Tensor] = {}
        self._skipped = 0
        self._unfinished = False

    @property
    def is_compileable(self) -> bool:
        """Only while a pass goes on, of static layers: else their empty places are seen by a query that comes alone.

        Between passes never: positions are kept by the host, and masks must reach the model as they are given.
        """
        return self._unfinished and super().is_compileable

    @property
    def entries(self) -> int:
        """How many entries a row has, padding and what a window has dropped included."""
        return self._history.get_seq_length()

    @property
    def positions(self) -> Tensor:
        """Where each entry of each row stands: [batch, entries], int64, [token]; -1 for padding."""
        return self._channel(0) - 1

    def next_positions(self, batch: int) -> Tensor:
        """The position at which each row goes on: [batch], int64, [token].

        Args:
            batch: how many rows there are, which an empty cache does not know
        """
        if not self.entries:
            return torch.full((batch,), self._skipped)
        return self._channel(0).amax(1) + self._skipped

    def turned(self, group: str) -> Tensor:
        """The length that turned each key, as `Scaling.settled` has it: [batch, entries], int64, 0 for none, [token].

        Args:
            group: the name of a group of layers
        """
        return self._channel(1 + list(self.stamps).index(group))

    @property
    def text(self) -> Tensor:
        """What the entries are: [batch, entries, 1], token ids, or [batch, entries, width], embeddings."""
        return cast(Tensor, self._history.values)[:, 0]

    @text.setter
    def text(self, text: Tensor) -> None:
        self._history.values = text[:, None]

    def skip(self, tokens: int) -> None:
        """Declare a gap: what is appended next stands this much further on, in every row.

        Args:
            tokens: how many positions hold nothing, >= 1, [token]
        """
        self._skipped += positive_integer("tokens", tokens)

    def needed_mask(self, batch: int, tokens: int) -> Tensor | None:
        """The attention_mask of a call that brings none, where padding in the cache would be seen without it.

        Args:
            batch: rows of the call
            tokens: how many it brings to each, all of them tokens

        Returns:
            [batch, entries + tokens], int64, 0 for padding; None where every entry is a token
        """
        there = self.positions >= 0
        if bool(there.all()):
            return None
        return torch.cat([there.long(), torch.ones(batch, tokens, dtype=torch.int64, device=there.device)], 1)

    def check(self, stamps: Mapping[str, Stamp]) -> None:
        """Raise `InputError`, with what differs, unless the keys are what these stamps say."""
        if self.stamps.keys() != stamps.keys():
            raise InputError(
                f"the cache's keys were made with something else: layers {', '.join(self.stamps)} and "
                f"{', '.join(stamps)}"
            )
        for name, stamp in self.stamps.items():
            stamp.check(stamps[name])

    def check_rows(self, batch: int) -> None:
        """Raise `InputError` unless a batch of so many rows can follow.

        Args:
            batch: how many rows
        """
        if self._unfinished:
            raise InputError("a pass over this cache has failed, and left some of its layers behind: start a new one")
        if self.entries and len(self.positions) != batch:
            raise InputError(f"the cache has {len(self.positions)} rows, got a batch of {batch}")

    def check_next(self, positions: Tensor) -> None:
        """Raise `InputError` unless these tokens follow what is there, a row at a time.

        Args:
            positions: [batch, tokens], int64, -1 for padding, [token]
        """
        there = positions >= 0
        wanted = there.cumsum(1) - 1
        first = positions.gather(1, there.int().argmax(1, keepdim=True))[:, 0]
        start = first.clamp(min=0)
        if self.entries:
            start = torch.where(self._channel(0).amax(1) > 0, self.next_positions(len(start)), start)
        wrong = there & (positions != wanted + start[:, None])
        if not bool(wrong.any()):
            return
        row, token = (int(index) for index in wrong.nonzero()[0])
        asked, next_one = int(positions[row, token]), int(wanted[row, token] + start[row])
        what = "is taken" if asked < next_one else "leaves a gap: declare it by the cache's skip"
        raise InputError(
            f"row {row} of the cache goes on at position {next_one}, got {asked} for token {token} of the call, which "
            f"{what}"
        )

    def begin(self, positions: Tensor, lengths: Mapping[str, Tensor], text: Tensor | None) -> None:
        """Enter the tokens of a pass, whose keys the model is about to append.

        Args:
            positions: [batch, tokens], int64, -1 for padding, [token]
            lengths: for each group the length that turns its keys, settled: [batch, tokens], int64, 0 for none
            text: [batch, tokens, 1] or [batch, tokens, width], where it is to be kept
        """
        marks = [positions + 1, *(lengths[name] for name in self.stamps)]
        history = torch.stack(marks, 2)[:, None]
        self._history.update(history, history[..., :1] if text is None else text[:, None])
        marked = history[..., :1]
        for kind in self._kinds():
            if kind not in self._shadows:
                self._shadows[kind] = kind[0](*kind[1:])
        self._record_as_layers_do()
        self._here = {kind: shadow.update(marked, marked)[0][:, 0, :, 0] - 1 for kind, shadow in self._shadows.items()}
        self._skipped, self._unfinished = 0, True

    def finish(self) -> None:
        """Note that the pass has come to its end: every layer has its keys."""
        self._unfinished = False

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        layer = self.layers[layer_idx] if layer_idx < len(self.layers) else None
        length = int(layer.get_seq_length()) if isinstance(layer, CacheLayerMixin) else 0
        if length + key_states.shape[-2] != self.entries:
            raise InputError(
                f"a PositionCache must be read by a model under use_cache, which says where tokens stand, got "
                f"{length + key_states.shape[-2]} keys and {self.entries} positions in layer {layer_idx}"
            )
        return super().update(key_states, value_states, layer_idx, *args, **kwargs)

    def here(self, layer: int) -> Tensor:
        """Where the keys stand that a layer reads in this pass: [batch, keys], int64, -1 where none is, [token]."""
        kind = self._kind(layer)
        if kind is None:
            raise InputError(
                f"layer {layer} keeps no keys in an order that is known: {type(self.layers[layer]).__name__}"
            )
        return self._here[kind]

    def crop(self, tokens_to_remove: int) -> None:
        check_crop(self.layers, tokens_to_remove, self.entries)
        self._record_as_layers_do()
        super().crop(tokens_to_remove)
        self._skipped = 0
        for layer in self._kept():
            cast(Any, layer).crop(tokens_to_remove)

    def reset(self) -> None:
        super().reset()
        self._skipped, self._unfinished = 0, False
        for layer in self._kept():
            layer.reset()

    def reorder_cache(self, beam_idx: Any) -> None:
        super().reorder_cache(beam_idx)
        for layer in self._kept():
            layer.reorder_cache(beam_idx)

    def batch_repeat_interleave(self, repeats: int) -> None:
        super().batch_repeat_interleave(repeats)
        for layer in self._kept():
            cast(Any, layer).batch_repeat_interleave(repeats)

    def batch_select_indices(self, indices: Tensor) -> None:
        super().batch_select_indices(indices)
        for layer in self._kept():
            cast(Any, layer).batch_select_indices(indices)

    def _channel(self, index: int) -> Tensor:
        if not self.entries:
            return torch.zeros(0, 0, dtype=torch.int64)
        return cast(Tensor, self._history.keys)[:, 0, :, index]

    def _record_as_layers_do(self) -> None:
        recording = any(getattr(layer, "record_past", False) for layer in self.layers)
        for shadow in self._shadows.values():
            setattr(shadow, "record_past", recording)  # noqa: B010 - only sliding layers declare it

    def _kept(self) -> list[CacheLayerMixin]:
        return [self._history, *self._shadows.values()]

    def _kinds(self) -> set[tuple[Any, ...]]:
        found = {self._kind(layer) for layer in range(max(len(self.layers), 1))}
        return {kind for kind in found if kind is not None}

    def _kind(self, layer: int) -> tuple[Any, ...] | None:
        """What a layer does with its entries: a class of transformers and what it is made with."""
        if layer >= len(self.layers):  # a cache that makes its layers as it goes has this kind alone
            return (DynamicLayer,)
        found = self.layers[layer]
        if isinstance(found, StaticSlidingWindowLayer):
            return (StaticSlidingWindowLayer, found.max_cache_len, found.max_cache_len)
        if isinstance(found, StaticLayer):
            return (StaticLayer, found.max_cache_len)
        if isinstance(found, DynamicSlidingWindowLayer):
            return (DynamicSlidingWindowLayer, found.sliding_window)
        if isinstance(found, DynamicLayer):
            return (DynamicLayer,)
        return None


def _length(cache: Cache) -> int | None:
    """How many entries a row has; None where no layer counts them."""
    if cache.layers and not any(isinstance(layer, CacheLayerMixin) for layer in cache.layers):
        return None
    return int(cache.get_seq_length())
