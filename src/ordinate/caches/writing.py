"""Entries on their way into a cache: where they stand is checked, then they are turned and written."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ordinate.caches.regimes import Recompute
from ordinate.caches.state import State, moved, squeezed
from ordinate.caches.turning import Turned, rotate_keys, rows, unrotate_keys
from ordinate.errors import MAXIMUM_POSITION, InputError, boolean, got
from ordinate.ops.rotate import rotate_into_cache_


def standing(state: State, positions: Any, shape: tuple[int, int]) -> Tensor:
    """Where tokens stand: [axes, rows, tokens], int64, on the host; where not given, behind what each row has.

    Raises:
        InputError: another shape or dtype, positions below -1 or beyond 2^53
    """
    axes = len(state.positions)
    if positions is None:
        return (state.ends[:, None] + torch.arange(shape[1])).expand(axes, *shape).clone()
    if not isinstance(positions, Tensor) or positions.dtype not in (torch.int32, torch.int64):
        raise InputError(f"positions must be a tensor of int32 or int64, got {got(positions)}")
    at = positions.to("cpu", torch.int64)
    several = (axes,) if axes > 1 else ()
    if tuple(at.shape) not in ((*several, *shape), (*several, shape[1])):
        raise InputError(f"positions must have shape {[*several, *shape]} or {[*several, shape[1]]}, got {[*at.shape]}")
    at = at.view(axes, 1 if at.ndim == len(several) + 1 else shape[0], shape[1]).expand(axes, *shape).clone()
    wrong = at[(at < -1) | (at >= MAXIMUM_POSITION)]
    if len(wrong):
        raise InputError(f"positions must be from 0 to 2^53 - 1, or -1 for no token, got {int(wrong[0])}")
    if ((at < 0).any(0) != (at < 0).all(0)).any():
        raise InputError("a token must have a position on every axis, or -1 on every axis")
    return at


def check_free(state: State, at: Tensor) -> None:
    """Raise `InputError` where two entries of a row would stand at one position."""
    there = at[0] >= 0
    highest = torch.nn.functional.pad(state.positions, (1, 0), value=-1).amax(2)
    lowest = torch.where(there, at, MAXIMUM_POSITION).amin(2) if at.shape[2] else highest + 1
    # What lies past all that is held, on one axis at least, is apart from it.
    apart = (lowest > highest).any(0)
    for row in range(state.batch):
        columns = at[:, row, there[row]]
        if not bool(apart[row]):
            columns = torch.cat([state.positions[:, row, state.held[row]], columns], 1)
        if len(columns) == 1 and columns.shape[1] and bool((columns[0].diff() > 0).all()):
            continue
        found, counts = np.unique(columns.numpy(), axis=1, return_counts=True)
        if (counts > 1).any():
            twice = found[:, counts.argmax()].tolist()
            raise InputError(
                f"two entries of a row cannot stand at one position: row {row} would have two at "
                f"{twice[0] if len(twice) == 1 else twice}"
            )


def check_gaps(state: State, at: Tensor) -> None:
    """Raise `InputError` where new entries do not follow the last one; several axes leave gaps by design."""
    if len(at) > 1:
        return
    there = at[0] >= 0
    for row in range(state.batch):
        found, end = at[0, row, there[row]].sort().values, int(state.ends[row])
        wanted = torch.arange(end, end + len(found))
        if not torch.equal(found, wanted):
            wrong = int(found[found != wanted][0])
            raise InputError(
                f"positions must follow what the row holds, or a gap be declared with gap=True: row {row} goes on at "
                f"{end}, got {wrong} where {int(wanted[found != wanted][0])} comes next"
            )


def next_ends(state: State, at: Tensor) -> Tensor:
    """The position that follows all entries of each row, these included: [rows]."""
    ends = torch.nn.functional.pad(at, (1, 0), value=-1).amax((0, 2)).add(1).maximum(state.ends)
    if bool((ends > MAXIMUM_POSITION).any()):
        row = int((ends > MAXIMUM_POSITION).nonzero()[0])
        raise InputError(f"positions must be from 0 to 2^53 - 1, got {int(ends[row]) - 1} in row {row}")
    return ends


def check_regime(state: State, ends: Tensor) -> None:
    """Raise `InputError` where rows must be computed again from the ids before they may end here."""
    due = recompute_due(state, ends)
    if due:
        row = due[0]
        raise InputError(
            f"{state.stamp.group.scaling} turns all otherwise at length {int(ends[row])}: under regime 'recompute' "
            f"rows {due} must be cleared and all their tokens be computed again"
        )


def recompute_due(state: State, ends: Tensor) -> list[int]:
    """The rows that hold what a pass of this length would not compute."""
    if not isinstance(state.stamp.regime, Recompute):
        return []
    stale = (state.settled(ends) != state.lengths) & state.held.any(1)
    return stale.nonzero()[:, 0].tolist()


def append(state: State, k: Tensor, v: Tensor, positions: Any, gap: bool) -> tuple[Tensor, Tensor]:
    """`Cache.append`; returns where the tokens stand, [axes, rows, tokens], and their ranks, [rows, tokens]."""
    boolean("gap", gap)
    check_numbers(state, k, v)
    at = standing(state, positions, (k.shape[0], k.shape[1]))
    for name, x in (("k", k), ("v", v)):
        # Where no token is, memory may hold anything.
        if not bool(torch.isfinite(x).all()) and not bool(torch.isfinite(x[(at[0] >= 0).to(x.device)]).all()):
            raise InputError(f"{name} must be finite where tokens are, got infinity or NaN")
    check_free(state, at)
    if not gap:
        check_gaps(state, at)
    ends = next_ends(state, at)
    check_regime(state, ends)
    state.settled(ends)  # a frozen length refuses what lies past it
    state.start(k.shape[2], (k.shape[3], v.shape[3]), k.device)
    make_way(state, at)
    state.check_reach(at)
    ranks = insert(state, k, v, at, ends)
    return at, ranks


def check_numbers(state: State, k: Tensor, v: Tensor) -> None:
    """Raise `InputError` unless k and v are tokens of these rows."""
    for name, x in (("k", k), ("v", v)):
        if not isinstance(x, Tensor) or x.ndim != 4 or not x.is_floating_point():
            shape = f"{[*x.shape]} {x.dtype}" if isinstance(x, Tensor) else got(x)
            raise InputError(f"{name} must be floats of shape [batch, tokens, heads, dim], got {shape}")
        if x.dtype.itemsize < 2 or x.is_meta or x.layout != torch.strided:
            raise InputError(
                f"{name} must be float16, bfloat16, float32 or float64 on a device, got {x.dtype} on {x.device}"
                + ("" if x.layout == torch.strided else f", {x.layout}")
            )
        if x.requires_grad and torch.is_grad_enabled():
            raise InputError(f"a cache keeps no gradient: append under torch.no_grad(), got {name} that requires one")
    if k.shape[0] != state.batch:
        raise InputError(f"k must have the cache's {state.batch} rows, got {k.shape[0]}")
    if k.shape[:3] != v.shape[:3]:
        raise InputError(f"k and v must agree but for dim, got {[*k.shape]} and {[*v.shape]}")


def make_way(state: State, at: Tensor) -> None:
    """In a ring, let go what none of these tokens, nor any later one, can see."""
    reach = state.layout.reach
    if reach is None or not at.shape[2]:
        return
    lowest = torch.where(at[0] >= 0, at[0], MAXIMUM_POSITION).amin(1)
    first = lowest if len(at) == 1 else state.next_ranks
    oldest = first - reach + 1
    coming = (at[0] >= 0).any(1)
    ranks = state.ranks
    gone = state.held & (ranks >= state.layout.sinks) & (ranks < oldest[:, None]) & coming[:, None]
    if bool(gone.any()):
        start, stop = state.lost
        start = torch.where(start < stop, start, MAXIMUM_POSITION)
        start = start.minimum(torch.where(gone, ranks, MAXIMUM_POSITION).amin(1))
        stop = stop.maximum(torch.where(gone, ranks, -1).amax(1) + 1)
        state.lost = torch.stack([start, stop])
    state.drop(gone)


def insert(state: State, k: Tensor, v: Tensor, at: Tensor, ends: Tensor, turned: Turned | None = None) -> Tensor:
    """Write entries: keys rotated as `turned` says, un-rotated where None; returns their ranks, [rows, tokens]."""
    there = at[0] >= 0
    nth = there.long().cumsum(1) - 1
    free = state.room(there.sum(1))
    memory = state.memory
    assert memory is not None  # noqa: S101
    row = torch.arange(state.batch)[:, None].expand_as(nth)
    place = free.gather(1, nth.clamp(min=0)) if free.shape[1] else torch.zeros_like(nth)
    ranks = at[0] if len(at) == 1 else torch.where(there, state.next_ranks[:, None] + nth, -1)
    lengths = state.kept_lengths(ends)
    turns = lengths != state.lengths
    write = _writer(state, k, v, at, turned, lengths, torch.where(turns, 0, state.frames))
    if memory.shares:
        written = torch.zeros_like(state.held)
        written[row[there], place[there]] = True
        memory.own(written)
    if bool(turns.any()):
        state.turn(state.stamp, state.positions, lengths)
    # From here on nothing is refused.
    slots = torch.full_like(nth, -1)
    slots[there] = memory.slots[row[there], place[there]]
    write(slots)
    state.positions[:, row[there], place[there]] = at[:, there]
    state.order[row[there], place[there]] = ranks[there]
    state.ends = ends
    if len(at) > 1:
        state.nexts = state.nexts + there.sum(1)
    return ranks


def _writer(
    state: State, k: Tensor, v: Tensor, at: Tensor, turned: Turned | None, lengths: Tensor, frames: Tensor
) -> Callable[[Tensor], None]:
    """What writes entries to slots, [rows, tokens]; all that can be refused is refused before it is called."""
    memory, stamp = state.memory, state.stamp
    assert memory is not None  # noqa: S101
    there = at[0] >= 0
    k, v = k.detach(), v.detach()
    if stamp.kept == "rotated":
        framed = torch.where(at < 0, -1, at + frames[:, None])
        own = Turned(stamp.group, squeezed(framed), lengths[:, None].expand(at.shape[1:]))
        pages = memory.views(k.dtype)
        if turned is None and pages is not None and v.dtype == k.dtype and k.device == memory.device:
            cos, sin = rows(own)
            if _fits(k, cos, sin):
                return _rotating(pages, k, v, own, cos, sin)
        k = k if k.dtype == torch.float64 else k.float()  # the storage rounds, once, and refuses what it cannot hold
        k = rotate_keys(k, own) if turned is None else moved(k, turned, own)
    elif turned is not None:
        k = unrotate_keys(k, turned)
    parts = [memory.storage.encode(x[there.to(x.device)].to(memory.device)) for x in (k, v)]

    def write(slots: Tensor) -> None:
        found = slots[there].to(memory.device)
        index = found // memory.page_size, found % memory.page_size
        memory.keys.put(index, parts[0])
        memory.values.put(index, parts[1])

    return write


def _rotating(
    pages: tuple[Tensor, Tensor], k: Tensor, v: Tensor, own: Turned, cos: Tensor, sin: Tensor
) -> Callable[[Tensor], None]:
    """What rotates keys on their way into pages."""
    cos, sin = (table.float().flatten(0, 1).to(k.device) for table in (cos, sin))
    nth = torch.arange(len(cos), device=k.device).view(k.shape[:2])

    def write(slots: Tensor) -> None:
        rotate_into_cache_(None, k, v, *pages, slots.to(k.device), cos, sin, nth, own.pairing, part=own.part)

    return write


def _fits(k: Tensor, cos: Tensor, sin: Tensor) -> bool:
    """Whether no turn takes a key out of what its own dtype holds: a pair (x, x) turned by 45 degrees is sqrt(2) x."""
    if not k.numel() or not cos.numel():
        return True
    largest = float(k.abs().amax()) * float(torch.hypot(cos, sin).amax()) * 2**0.5
    # NaN, which may stand where no token is, does not fit either.
    return largest < torch.finfo(k.dtype).max
