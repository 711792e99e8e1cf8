"""Attention over keys that are kept un-rotated, each query's row turned by a length of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface

from ordinate.caches.reading import SPARSE
from ordinate.errors import InputError
from ordinate.ops import attend as attend_to
from ordinate.ops.rotate.arguments import Pairing, Part
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup
from ordinate.transformers import attention
from ordinate.transformers.attention import Sight
from ordinate.transformers.length_tables import LengthTables

NAME = "ordinate-unrotated"
"""What the implementation is called in transformers' registry."""


def register() -> None:
    """Enter the implementation in transformers' registry; `use_cache` asks for it where it is needed."""
    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, attention.mask)


@dataclass(frozen=True)
class Run:
    """Queries that one length turns.

    Args:
        length: settled, 0 for that of no token, [token]
        start, stop: which tokens of the call
        rows: which rows of the batch
    """

    length: int
    start: int
    stop: int
    rows: tuple[int, ...]


def runs_of(lengths: Tensor) -> list[Run]:
    """Queries by the length that turns them, neighbours together.

    Args:
        lengths: [batch, tokens], int64, settled, 0 for that of no token
    """
    found: dict[tuple[int, int, int], list[int]] = {}
    for row, of_row in enumerate(lengths.tolist()):
        start = 0
        for token in range(1, len(of_row) + 1):
            if token == len(of_row) or of_row[token] != of_row[start]:
                found.setdefault((of_row[start], start, token), []).append(row)
                start = token
    return [Run(length, start, stop, tuple(rows)) for (length, start, stop), rows in found.items()]


class Reading:
    """What attention has to know of one pass over a model.

    Args:
        positions: of the queries: [batch, tokens], int64, -1 for padding, [token]
        keys: where the keys of a layer stand, by the layer's number; None where a pass has no cache
        runs: the queries by length, for each group of layers whose scaling depends on it
        group_of: the group of each layer
        tables: of each such group
        ascending: whether each row's keys stand one after the other
    """

    def __init__(
        self,
        positions: Tensor,
        keys: Callable[[int], Tensor] | None,
        runs: Mapping[str, list[Run]],
        group_of: Callable[[int], LayerGroup],
        tables: Mapping[str, LengthTables],
        ascending: bool,
    ) -> None:
        self.positions = positions
        self.runs = runs
        self.group_of = group_of
        self.tables = tables
        self.ascending = ascending
        self._keys = keys

    def key_positions(self, layer: int, keys: int) -> Tensor:
        """Where a layer's keys stand: [batch, keys], int64, -1 where none is."""
        found = self.positions if self._keys is None else self._keys(layer)
        if found.shape[1] < keys:
            raise InputError(f"layer {layer} reads {keys} keys, and the positions of {found.shape[1]} are known")
        return found[:, :keys]

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, seen: Sight, **settings: Any) -> Tensor:
        """Attention of a layer.

        Args:
            layer: its number
            query: [batch, tokens, heads, head_dim], un-rotated where the layer's group is in `runs`
            key, value: [batch, keys, key-value heads, head_dim], likewise
            seen: which keys the queries see
            settings: for `ordinate.ops.attend`

        Returns:
            [batch, tokens, heads, value_dim]
        """
        group = self.group_of(layer)
        bias = None if seen.bias is None else seen.bias.to(torch.promote_types(seen.bias.dtype, torch.float32))
        if group.layer_type not in self.runs:
            return attend_to(
                query, key, value, causal=seen.causal, window=seen.window, mask=seen.seen, bias=bias, **settings
            )
        tokens, keys = query.shape[1], key.shape[1]
        places = self.key_positions(layer, keys)
        causal, window, mask = seen.causal, seen.window, seen.seen
        if causal and not self.ascending:
            mask, causal, window = in_order(seen, tokens, keys, query.device), False, None
        pairing, part = layout(group)
        made = []
        runs = self.runs[group.layer_type]
        for run in runs:
            # What stands after the run's last query is hidden from all of it.
            end = keys - tokens + run.stop if causal else keys
            rows = _rows(run.rows, len(query), query.device)
            here, stands = _of(places, rows)[:, :end], _of(self.positions, rows)[:, run.start : run.stop].clamp(min=0)
            tables, own, within = self.tables[group.layer_type], _part(mask, rows, run, end), window
            furthest = max(int(here.amax()), int(stands.amax()))
            if run.length and furthest >= SPARSE * (end + 64):
                # A table up to there would be mostly of positions at which nothing stands.
                if window is not None:
                    near = (stands[:, None, :, None] - here[:, None, None] <= window[0]).to(query.device)
                    own, within = near if own is None else own & near, None
                found, stands, here = _numbered(stands, here)
                cos, sin = tables.rows(run.length, found.to(query.device))
            else:
                cos, sin = tables.table(run.length, furthest + 1, query.device)
            made.append(
                attend_to(
                    _of(query, rows)[:, run.start : run.stop],
                    _of(key, rows)[:, :end],
                    _of(value, rows)[:, :end],
                    causal=causal,
                    window=within,
                    query_positions=stands,
                    key_positions=here,
                    mask=own,
                    bias=_part(bias, rows, run, end),
                    cos=cos,
                    sin=sin,
                    pairing=pairing,
                    part=part,
                    **settings,
                )
            )
        if len(made) == 1:
            return made[0]
        out = query.new_zeros(*query.shape[:3], value.shape[3])
        for run, rows_out in zip(runs, made, strict=True):
            where = torch.tensor(run.rows, device=query.device)
            out[where, run.start : run.stop] = rows_out
        return out


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    position_bias: Tensor | None = None,
    sliding_window: int | None = None,
    output_attentions: bool | None = False,
    ordinate_reading: Reading | None = None,
    **others: Any,  # noqa: ARG001
) -> tuple[Tensor, None]:
    """Attention of one layer over un-rotated queries and keys, as `ordinate.transformers.attention.attend` otherwise.

    Args:
        module: the attention layer
        query, key, value, attention_mask, dropout, scaling, is_causal, softcap, s_aux, position_bias, sliding_window,
            output_attentions, others: as there
        ordinate_reading: what `use_cache` hands through the model

    Returns:
        [batch, queries, heads, head_dim], and None for the weights

    Raises:
        InputError: as there, or a model that does not hand on what it is given
    """
    attention.check_plain(NAME, dropout, output_attentions)
    if ordinate_reading is None:
        raise InputError(f"{type(module).__name__} does not hand on its keywords, or was called past use_cache")
    seen = attention.sight(module, attention_mask, key.shape[2], is_causal, position_bias, sliding_window)
    out = ordinate_reading.attend(
        int(getattr(module, "layer_idx", 0)),
        query.transpose(1, 2),
        key[:, :, : seen.keys].transpose(1, 2),
        value[:, :, : seen.keys].transpose(1, 2),
        seen,
        softmax_scale=scaling,
        softcap=softcap,
        sink_logits=None if s_aux is None else s_aux.float(),
    )
    return out, None


def layout(group: LayerGroup) -> tuple[Pairing, Part]:
    """How q and k lie when they reach attention in transformers, and which of their channels turn."""
    rope = group.rope
    pairing = group.pairing or rope.pairing
    if pairing == "unknown":
        raise InputError(f"group {group.layer_type!r} does not say how its channels pair, so its keys cannot be turned")
    part = rope.part if isinstance(rope, Rope) else "first"
    # Its channels have moved where the rotation would have brought them.
    return ("half" if pairing == "interleaved-in-half-out" else pairing), part


def in_order(seen: Sight, tokens: int, keys: int, device: torch.device) -> Tensor:
    """What a causal query sees by the order of the tokens, not by their positions: [batch or 1, 1, tokens, keys]."""
    query = torch.arange(keys - tokens, keys, device=device)[:, None]
    key = torch.arange(keys, device=device)[None]
    mask = key <= query
    if seen.window is not None:
        mask &= key >= query - seen.window[0]
    mask = mask[None, None]
    return mask if seen.seen is None else mask & seen.seen


def _numbered(queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The positions at which something stands, ascending, and which of them each query and key has; -1 for no key."""
    both = torch.cat([queries, keys], 1)
    found, numbers = both.clamp(min=0).unique(return_inverse=True)
    numbers = torch.where(both < 0, -1, numbers)
    return found, numbers[:, : queries.shape[1]], numbers[:, queries.shape[1] :]


def _rows(rows: tuple[int, ...], batch: int, device: torch.device) -> Tensor | None:
    """Which rows are meant; None for all."""
    return None if len(rows) == batch else torch.tensor(rows, device=device)


def _of(tensor: Tensor, rows: Tensor | None) -> Tensor:
    return tensor if rows is None else tensor[rows]


def _part(tensor: Tensor | None, rows: Tensor | None, run: Run, end: int) -> Tensor | None:
    """A mask or bias [batch or 1, heads or 1, tokens or 1, keys] of one run."""
    if tensor is None:
        return None
    if len(tensor) > 1:
        tensor = _of(tensor, rows)
    if tensor.shape[2] > 1:
        tensor = tensor[:, :, run.start : run.stop]
    return tensor[..., :end]
