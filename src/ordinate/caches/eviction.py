"""Entries that go, and what becomes of the positions of those that stay."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ordinate.caches.regimes import Recompute
from ordinate.caches.state import State
from ordinate.errors import MAXIMUM_POSITION, InputError, got, non_negative_integer


def row_numbers(state: State, name: str, value: Any) -> Tensor:
    """A number for each row, from one for all or one for each: [rows], int64, none negative."""
    if isinstance(value, Tensor):
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != state.batch:
            raise InputError(f"{name} must be one number, or one for each of {state.batch} rows, got {len(value)}")
        numbers = [non_negative_integer(f"{name}[{row}]", number) for row, number in enumerate(value)]
    else:
        numbers = [non_negative_integer(name, value)] * state.batch
    # What lies past every position is past every row's end.
    return torch.tensor([min(number, 2**62) for number in numbers], dtype=torch.int64)


def crop(state: State, lengths: Any) -> None:
    """`Cache.crop`."""
    numbers, ends = row_numbers(state, "lengths", lengths), state.next_ranks
    if bool((numbers > ends).any()):
        row = int((numbers > ends).nonzero()[0])
        raise InputError(f"row {row} has {int(ends[row])} positions to keep, got {int(numbers[row])}")
    _cut(state, numbers)


def rewind(state: State, tokens: Any) -> None:
    """`Cache.rewind`."""
    numbers, ends = row_numbers(state, "tokens", tokens), state.next_ranks
    if bool((numbers > ends).any()):
        row = int((numbers > ends).nonzero()[0])
        raise InputError(f"row {row} has {int(ends[row])} positions to go back, got {int(numbers[row])}")
    _cut(state, ends - numbers)


def _cut(state: State, ranks: Tensor) -> None:
    """Let entries from these ranks on go."""
    cut = ranks < state.next_ranks
    state.drop(state.held & (state.ranks >= ranks[:, None]))
    if len(state.positions) == 1:
        state.ends = torch.where(cut, ranks, state.ends)
    else:
        last = torch.nn.functional.pad(state.positions, (1, 0), value=-1).amax((0, 2))
        state.ends = torch.where(cut, last + 1, state.ends)
    state.nexts = state.nexts.minimum(ranks)
    state.lost = state.lost.minimum(ranks).minimum(state.next_ranks)


def shift(state: State, drop: Any, keep_first: int, renumber: bool) -> None:
    """`Cache.shift`, and `Cache.evict` where the rest keeps its positions.

    Args:
        state: changed
        drop: how many positions go, one number or one for each row
        keep_first: positions below it stay
        renumber: whether those behind follow those that stay
    """
    numbers, first = row_numbers(state, "drop", drop), non_negative_integer("keep_first", keep_first)
    ends = state.next_ranks
    short = (numbers > 0) & (first + numbers > ends)
    if bool(short.any()):
        row = int(short.nonzero()[0])
        raise InputError(
            f"row {row} has {int(ends[row])} positions: {first} that stay and {int(numbers[row])} that go are too many"
        )
    ranks = state.ranks
    behind = state.held & (ranks >= first + numbers[:, None])
    gone = state.held & (ranks >= first) & ~behind
    if not renumber:
        state.drop(gone)
        return
    distance = numbers if len(state.positions) == 1 else _distances(state, gone, behind)
    state.drop(gone)
    behind = state.held & (state.ranks >= first + numbers[:, None])
    ends = state.ends - distance
    # Under "recompute" what lies here stays as the length at which it was computed turned it.
    settled = state.lengths if isinstance(state.stamp.regime, Recompute) else state.kept_lengths(ends)
    moved = torch.where(behind, state.positions - distance[:, None], state.positions)
    state.turn(state.stamp, moved, torch.where(numbers > 0, settled, state.lengths), _frames(state, behind, distance))
    state.order = torch.where(behind, state.order - numbers[:, None], state.order)
    state.ends = ends
    state.nexts = state.nexts - numbers
    state.lost = torch.where(state.lost > first, (state.lost - numbers).clamp(min=first), state.lost)


def _frames(state: State, behind: Tensor, distance: Tensor) -> Tensor:
    """Frames in which more of each row's keys stay as they lie, [rows].

    Scores depend on differences of positions: where what lies behind moves down as one, its keys may stay, if queries,
    new keys and the few that stood before are turned by so much more. xPos' magnitudes would leave float32 so.
    """
    group = state.stamp.group
    if state.stamp.kept != "rotated" or group.rope.magnitudes(np.zeros(0, dtype=np.int64)) is not None:
        return state.frames
    before = state.held & ~behind
    return torch.where(behind.sum(1) > before.sum(1), state.frames + distance, state.frames)


def _distances(state: State, gone: Tensor, behind: Tensor) -> Tensor:
    """How far what lies behind moves, with several axes: to the lowest of what goes, but past all that stays. [rows]"""
    lowest = state.positions.amin(0)
    # Half of an image may stay: what goes then begins where what stays does, and its place is not free.
    stays = state.held & ~gone & ~behind
    past = torch.nn.functional.pad(torch.where(stays, state.positions.amax(0), -1), (1, 0), value=-1).amax(1) + 1
    from_gone = torch.where(gone, lowest, MAXIMUM_POSITION).amin(1) if gone.shape[1] else state.ends
    from_behind = torch.where(behind, lowest, MAXIMUM_POSITION).amin(1) if gone.shape[1] else state.ends
    return torch.where(gone.any(1), (from_behind.minimum(state.ends) - from_gone.maximum(past)).clamp(min=0), 0)


def evict(state: State, sinks: int, window: int, positions: str) -> None:
    """`Cache.evict`."""
    first, newest = non_negative_integer("sinks", sinks), non_negative_integer("window", window)
    if positions not in ("kept", "renumbered"):
        raise InputError(f"positions must be 'kept' or 'renumbered', got {got(positions)}")
    drop = (state.next_ranks - newest - first).clamp(min=0)
    shift(state, drop, first, positions == "renumbered")
