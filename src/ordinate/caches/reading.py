"""Attention of queries to what a cache holds: a call for each group of rows that are turned by one length."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ordinate.caches.state import State, squeezed
from ordinate.caches.tables import Tables, one_table
from ordinate.caches.turning import Turned, move_keys, rotate_keys
from ordinate.errors import InputError
from ordinate.ops.attend import attend
from ordinate.schemes.base import Bias

SPARSE = 4
"""How many positions a table may have for each key; where keys lie further apart they are turned in a copy."""


@dataclass(frozen=True)
class Queries:
    """Where queries stand, on the host.

    Args:
        positions: [axes, rows, query], int64, -1 for a query that is none
        ranks: [rows, query], int64, -1 likewise
    """

    positions: Tensor
    ranks: Tensor


def ranks_of(state: State, at: Tensor) -> Tensor:
    """The ranks of queries at these positions: [rows, query]; with several axes, of the entries that stand there."""
    if len(at) == 1:
        return at[0]
    same = (at[..., None] == state.positions[:, :, None]).all(0)
    found = torch.where(same, state.order[:, None], -1)
    ranks = torch.nn.functional.pad(found, (1, 0), value=-1).amax(2)
    missing = ((ranks < 0) & (at[0] >= 0)).nonzero()
    if len(missing):
        row, query = missing[0].tolist()
        raise InputError(f"a query must stand where an entry does, got {at[:, row, query].tolist()} in row {row}")
    return torch.where(at[0] >= 0, ranks, -1)


def check_reach(state: State, queries: Queries, causal: bool) -> None:
    """Raise `InputError` where a query needs what is not there."""
    there = queries.ranks >= 0
    beyond = there & (queries.ranks >= state.next_ranks[:, None])
    if causal and bool(beyond.any()):
        row, query = beyond.nonzero()[0].tolist()
        raise InputError(
            f"a query must stand where the cache has entries: row {row} ends before {int(state.next_ranks[row])}, got "
            f"{int(queries.ranks[row, query])}"
        )
    reach = state.layout.reach
    if reach is None:
        return
    start, stop = state.lost[..., None]
    oldest = queries.ranks - reach + 1
    lost = there & (oldest.maximum(start) < stop.minimum(queries.ranks + 1))
    lost |= there & (start < stop.clamp(max=state.layout.sinks))
    if bool(lost.any()):
        row, query = lost.nonzero()[0].tolist()
        raise InputError(
            f"row {row} has overwritten positions {int(start[row])} to {int(stop[row]) - 1}: a query at "
            f"{int(queries.ranks[row, query])} needs keys from {int(oldest[row, query])} on"
        )


def query_lengths(state: State, queries: Queries) -> Tensor:
    """The length that each query and its keys are turned by, settled: [rows, query]; 0 for None."""
    group, regime = state.stamp.group, state.stamp.regime
    lengths = torch.zeros_like(queries.ranks)
    if group.stretch is None or "static" in group.stretch.traits:
        return lengths
    at, there = queries.positions.amax(0), queries.ranks >= 0
    for row in range(state.batch):
        if bool(there[row].any()):
            found = regime.settled(group.stretch, at[row, there[row]].numpy(), int(state.ends[row]))
            lengths[row, there[row]] = torch.tensor([length or 0 for length in found])
            # A query that is none is in whatever group its row is in already.
            lengths[row, ~there[row]] = lengths[row, there[row]][-1]
    return lengths


def groups(lengths: Tensor) -> Iterator[tuple[int, Tensor | None, Tensor | None]]:
    """Which queries share a call: a length, rows and columns; None for all."""
    found = lengths.unique().tolist()
    if len(found) <= 1:
        yield (found[0] if found else 0), None, None
        return
    for length in found:
        patterns: dict[bytes, list[int]] = {}
        of_length = lengths == length
        for row, pattern in enumerate(of_length.numpy()):
            if pattern.any():
                patterns.setdefault(pattern.tobytes(), []).append(row)
        for rows in patterns.values():
            yield length, torch.tensor(rows), of_length[rows[0]].nonzero()[:, 0]


def read(
    state: State,
    tables: Tables | None,
    q: Tensor,
    queries: Queries,
    *,
    causal: bool,
    learned: Mapping[str, Any] | None,
    options: dict[str, Any],
) -> Tensor:
    """`Cache.attend` of what has been checked."""
    group, memory = state.stamp.group, state.memory
    assert memory is not None  # noqa: S101 - an empty cache has no position for a query
    if not q.shape[1]:
        return q.new_zeros(*q.shape[:3], memory.values.dim)
    options = {name: value for name, value in options.items() if value is not None}
    if isinstance(group.encoding, Bias) and "slopes" not in options and "by_distance" not in options:
        options |= {"scheme": group.encoding, "learned": learned}
    elif learned is not None:
        raise InputError(f"learned belongs to the group's own bias, got {list(learned)} beside {group.scheme}")
    reach = state.layout.reach or group.sliding_window
    if reach is not None:
        options |= {"window": (reach - 1, None if causal else reach - 1), "keep_first": state.layout.sinks}
    options |= {"causal": causal, "softmax_scale": group.softmax_scale}
    out = q.new_zeros(*q.shape[:3], memory.values.dim)
    for length, rows, columns in groups(query_lengths(state, queries)):
        made = _one(state, tables, q, queries, length, rows, columns, options)
        if rows is None or columns is None:
            out = made
        else:
            out[rows[:, None].to(q.device), columns.to(q.device)] = made
    there = queries.ranks >= 0
    return out if bool(there.all()) else out.masked_fill(~there.to(q.device)[..., None, None], 0)


def _one(
    state: State,
    tables: Tables | None,
    q: Tensor,
    queries: Queries,
    length: int,
    rows: Tensor | None,
    columns: Tensor | None,
    options: dict[str, Any],
) -> Tensor:
    """The queries in some columns of some rows, turned by one length with all their keys."""
    group, memory = state.stamp.group, state.memory
    assert memory is not None  # noqa: S101
    which = torch.arange(state.batch) if rows is None else rows
    at, ranks, keys_at = queries.positions[:, which], queries.ranks[which], state.ranks[which]
    if rows is not None and columns is not None:
        at, ranks = at[..., columns], ranks[:, columns]
        q = q[rows.to(q.device)[:, None], columns.to(q.device)]
    # A query that is none stands at 0: what it reads is thrown away.
    at, ranks = at.clamp(min=0), ranks.clamp(min=0)
    k, v, extra = memory.operands(rows, q.dtype)
    options = options | extra
    if group.temperature is not None:
        factors = group.temperature.factors(at.amax(0).reshape(-1).numpy())
        options["query_scale"] = torch.from_numpy(factors).to(q.device, torch.float32).view(ranks.shape)
    if group.rotary_dim is not None:
        told = torch.full_like(ranks, length)
        own = Turned(group, squeezed(at + state.frames[which, None]), told)
        if tables is not None and _dense(state, keys_at, ranks):
            cos, sin = tables.rows(int(max(keys_at.max(), ranks.max())) + 1, length, q.device)
            options |= {"cos": cos, "sin": sin, "pairing": own.pairing, "part": own.part}
        else:
            if state.stamp.kept == "unrotated" or bool((state.lengths[which] != length).any()):
                # Pages are gathered: these keys are turned in a copy.
                k, v = memory.gathered(rows, torch.float64 if q.dtype == torch.float64 else torch.float32)
                k, v = _turned(state, which, k, length).to(q.dtype), v.to(q.dtype)
                options = {name: value for name, value in options.items() if name not in extra}
            q = rotate_keys(q, own, "query")
    positions = {"query_positions": ranks.to(q.device), "key_positions": keys_at.to(q.device)}
    return attend(q, k, v, **positions, **options)


def _turned(state: State, which: Tensor, keys: Tensor, length: int) -> Tensor:
    """All keys of rows, as they are kept, turned by a length."""
    after = state.rows_at(which, torch.full_like(which, length))
    return rotate_keys(keys, after) if state.stamp.kept == "unrotated" else move_keys(keys, state.rows_at(which), after)


def _dense(state: State, keys_at: Tensor, ranks: Tensor) -> bool:
    """Whether `attend` may turn these keys itself: they are kept as they came, and a table of positions is short."""
    if state.stamp.kept != "unrotated" or not one_table(state.stamp.group) or not keys_at.numel():
        return False
    return max(int(keys_at.max()), int(ranks.max())) < SPARSE * (keys_at.shape[1] + 64)
