"""Entries that are read out of one cache and stand in another, or are turned otherwise where they are."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ordinate.caches.entries import Entries
from ordinate.caches.eviction import row_numbers
from ordinate.caches.layouts.ring import Ring
from ordinate.caches.regimes import Recompute, Regime
from ordinate.caches.stamp import Kept, Stamp
from ordinate.caches.state import State, squeezed
from ordinate.caches.turning import Turned, axes_of, move_keys, rotate_keys, unrotate_keys
from ordinate.caches.writing import check_free, check_gaps, check_regime, insert, make_way, next_ends
from ordinate.errors import InputError, boolean, got, non_negative_integer
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup


def checked_rows(state: State, rows: Any, empty: bool = False) -> Tensor:
    """Row numbers as [rows], int64; with `empty` -1 is one, too."""
    if isinstance(rows, Tensor):
        rows = rows.tolist()
    if not isinstance(rows, Sequence) or not all(isinstance(row, int) and not isinstance(row, bool) for row in rows):
        raise InputError(f"rows must be a list of row numbers, got {got(rows)}")
    least = -1 if empty else 0
    wrong = [row for row in rows if not least <= row < state.batch]
    if wrong:
        raise InputError(f"rows must be from {least} to {state.batch - 1}, got {wrong[0]}")
    return torch.tensor(rows, dtype=torch.int64)


def check_dtype(dtype: torch.dtype) -> None:
    """Raise `InputError` where keys or values would be read as anything but floats."""
    if dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise InputError(f"dtype must be float16, bfloat16, float32 or float64, got {got(dtype)}")


def entries(state: State, rows: Any, start: int, stop: int | None, dtype: torch.dtype) -> Entries:
    """`Cache.entries`."""
    which = torch.arange(state.batch) if rows is None else checked_rows(state, rows)
    check_dtype(dtype)
    if not len(which):
        raise InputError("rows must name at least one row, got []")
    non_negative_integer("start", start)
    if stop is not None:
        non_negative_integer("stop", stop)
    if state.memory is None:
        raise InputError("the cache must have entries to be read, got none")
    ranks = state.ranks[which]
    wanted = state.held[which] & (ranks >= start) & (ranks < (2**62 if stop is None else stop))
    place = torch.argsort(torch.where(wanted, ranks, 2**62), dim=1)[:, : int(wanted.sum(1).max())]
    there = wanted.gather(1, place)
    positions = torch.where(there, state.positions[:, which[:, None], place], -1)
    keys, values = (
        state.memory.read(parts, which[:, None], place, dtype).masked_fill_(
            ~there.to(state.memory.device)[..., None, None], 0
        )
        for parts in (state.memory.keys, state.memory.values)
    )
    if state.stamp.kept == "rotated" and bool(state.frames[which].any()):
        lengths = state.lengths[which][:, None].expand(there.shape)
        framed = torch.where(there, positions + state.frames[which, None], -1)
        before = Turned(state.stamp.group, squeezed(framed), lengths)
        keys = move_keys(keys, before, Turned(state.stamp.group, squeezed(positions), lengths))
    return Entries(keys, values, squeezed(positions), state.lengths[which], state.stamp)


def kept_keys(state: State, kept: Kept | None, dtype: torch.dtype) -> Tensor:
    """`Cache.keys`."""
    check_dtype(dtype)
    if state.memory is None:
        raise InputError("the cache must have entries to be read, got none")
    keys, _ = state.memory.gathered(None, dtype)
    there = state.held.to(keys.device)[..., None, None]
    keys = torch.where(there, keys, 0)
    kept = replace(state.stamp, kept=kept or state.stamp.kept).kept  # refuses what nothing rotates
    if kept == state.stamp.kept and not bool(state.frames.any()):
        return keys
    lying = state.rows_at(torch.arange(state.batch))
    standing = replace(lying, positions=squeezed(state.positions))
    if state.stamp.kept == "unrotated":
        keys = rotate_keys(keys, standing)
    else:
        keys = move_keys(keys, lying, standing) if kept == "rotated" else unrotate_keys(keys, lying)
    return torch.where(there, keys, 0)


def splice(state: State, given: Entries, at: Any, gap: bool) -> None:
    """`Cache.splice`."""
    boolean("gap", gap)
    if not isinstance(given, Entries):
        raise InputError(f"entries must be Entries of a cache, got {got(given)}")
    replace(given.stamp, kept=state.stamp.kept).check(state.stamp)
    positions = given.positions if len(state.positions) > 1 else given.positions[None]
    _, count, tokens = positions.shape
    if count not in (1, state.batch):
        raise InputError(f"entries must have 1 row, or the cache's {state.batch}, got {count}")
    # One row stands in all rows.
    wide = torch.zeros(state.batch, dtype=torch.int64) if count == 1 else torch.arange(count)
    positions = positions[:, wide]
    there = positions[0] >= 0
    first = torch.where(there, positions.amin(0), 2**62).amin(1) if tokens else state.ends
    start = state.ends if at is None else row_numbers(state, "at", at)
    to = torch.where(there, positions + (start - first)[:, None], -1)
    check_free(state, to)
    if not gap:
        check_gaps(state, to)
    ends = next_ends(state, to)
    check_regime(state, ends)
    if isinstance(state.stamp.regime, Recompute) and bool((state.settled(ends) != given.lengths[wide]).any()):
        raise InputError(
            "entries were computed at a length that turns otherwise: under 'recompute' they must be computed"
        )
    state.settled(ends)
    keys, values = given.keys[wide.to(given.keys.device)], given.values[wide.to(given.values.device)]
    state.start(keys.shape[2], (keys.shape[3], values.shape[3]), keys.device)
    state.check_reach(to)
    make_way(state, to)
    turned = None
    if given.stamp.kept == "rotated":
        lengths = given.lengths[wide][:, None].expand(there.shape)
        turned = Turned(given.stamp.group, squeezed(positions), lengths)
    insert(state, keys, values, to, ends, turned)


def rebase(state: State, group: LayerGroup | None, regime: Regime | None) -> None:
    """`Cache.rebase`."""
    old = state.stamp
    stamp = Stamp(group or old.group, old.kept, regime or old.regime)
    if len(state.positions) != axes_of(stamp.group):
        raise InputError(
            f"{stamp.group.scheme} has {axes_of(stamp.group)} positions a token, got {len(state.positions)}"
        )
    if isinstance(stamp.group.encoding, Rotary) and isinstance(old.group.encoding, Rotary):
        pairings = [g.pairing or g.rope.pairing for g in (old.group, stamp.group)]
        if pairings[0] != pairings[1]:
            raise InputError(
                f"a cache must keep the pairing of its model's weights, got {pairings[0]} and {pairings[1]}"
            )
    if isinstance(state.layout, Ring):
        # A ring has let go what its own window hides: it cannot become another's.
        state.layout.of(stamp.group)
    check_kind(old, stamp)
    if state.memory is not None:
        changed = replace(state, stamp=stamp)
        changed.check_channels(state.memory.keys.dim)
        changed.check_reach(state.positions)
    settled = replace(state, stamp=stamp).settled(state.ends)
    state.turn(stamp, state.positions, settled)


def check_kind(old: Stamp, new: Stamp) -> None:
    """Raise `InputError` where keys of one kind of scheme would be read as another's: that is another model."""
    kinds = [stamp.group.encoding for stamp in (old, new)]
    if not all(isinstance(kind, Rotary) for kind in kinds) and type(kinds[0]) is not type(kinds[1]):
        raise InputError(
            f"a cache takes another base, factor, method or length, not another kind of scheme: it has "
            f"{old.group.scheme}, got {new.group.scheme}"
        )


def reorder(state: State, rows: Any) -> None:
    """`Cache.reorder`."""
    which = checked_rows(state, rows, empty=True)
    if state.memory is not None:
        state.memory = state.memory.rows(which)
    empty, source = which < 0, which.clamp(min=0)
    state.positions = torch.where(empty[:, None], -1, state.positions[:, source])
    state.order = torch.where(empty[:, None], -1, state.order[source])
    numbers = torch.where(empty[:, None], -1, state.origins.numbers[source])
    for name in ("ends", "lengths", "frames", "lost", "nexts"):
        setattr(state, name, torch.where(empty, 0, getattr(state, name)[..., source]))
    if state.memory is not None:
        # Pages that only rows that are gone had are no places any more.
        places = state.memory.places
        state.positions, state.order = state.positions[..., :places], state.order[:, :places]
        numbers = numbers[:, :places]
    state.origins = replace(state.origins, numbers=numbers)


def fork(state: State) -> State:
    """`Cache.fork`."""
    memory = None if state.memory is None else state.memory.fork()
    same = ("positions", "order", "ends", "lengths", "frames", "lost", "nexts")
    return replace(state, memory=memory, **{name: getattr(state, name).clone() for name in same})
