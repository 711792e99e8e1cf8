"""What a cache holds: keys, values, where they stand and how they are turned; the steps that operations are made of."""

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from ordinate.caches.layouts.base import Layout, Memory
from ordinate.caches.origins import Origins
from ordinate.caches.regimes import PerRow
from ordinate.caches.stamp import Stamp
from ordinate.caches.storage import Storage
from ordinate.caches.turning import Turned, axes_of, move_keys, rotate_keys, unrotate_keys
from ordinate.errors import InputError
from ordinate.schemes.base import Rotary

AT_ONCE = 4096
"""How many keys are turned at once: in float64 they need twice their memory."""


@dataclass
class State:
    """Rows of entries. All integers are on the host; an entry's place is its column.

    Args:
        stamp: what the keys are
        layout: how memory lies
        storage: how numbers are kept
        memory: keys and values; None until the first of them come
        positions: [axes, rows, places], int64, -1 where no entry is, [token]
        order: [rows, places], int64, in which the entries of several axes follow one another; unused for one axis
        ends: [rows], int64: the position that follows the last one, [token]
        lengths: [rows], int64: the length that the keys of a row are turned by, settled, 0 for None, [token]
        frames: [rows], int64: keys that are kept rotated are turned by their position + this, [token]
        origins: what keys were before they were turned on
        nexts: [rows], int64: the rank of each row's next entry, with several axes; unused for one axis
        lost: [2, rows], int64: a ring has overwritten entries from the first of these ranks to before the second
        rotary_only: whether keys have the channels that turn, and no others (MLA)
        pool: the pool of pages, without rows, once there is one: forks share this list, even of an empty cache
    """

    stamp: Stamp
    layout: Layout
    storage: Storage
    memory: Memory | None
    positions: Tensor
    order: Tensor
    ends: Tensor
    lengths: Tensor
    frames: Tensor
    origins: Origins
    lost: Tensor
    nexts: Tensor
    rotary_only: bool = False
    pool: list[Memory] = field(default_factory=list)

    @classmethod
    def empty(cls, stamp: Stamp, layout: Layout, storage: Storage, batch: int) -> "State":
        """Rows without entries."""
        axes = axes_of(stamp.group)
        ends, lengths, frames = (torch.zeros(batch, dtype=torch.int64) for _ in range(3))
        lost = torch.zeros(2, batch, dtype=torch.int64)
        nowhere = torch.full((axes, batch, 0), -1)
        origins = Origins(None, torch.zeros(axes, 0, dtype=torch.int64), nowhere[0].clone())
        return cls(
            stamp,
            layout,
            storage,
            None,
            nowhere,
            nowhere[0].clone(),
            ends,
            lengths,
            frames,
            origins,
            lost,
            ends.clone(),
        )

    @property
    def batch(self) -> int:
        return len(self.ends)

    @property
    def held(self) -> Tensor:
        """Which places hold an entry: [rows, places], bool."""
        return self.positions[0] >= 0

    @property
    def ranks(self) -> Tensor:
        """What decides which key comes before which: [rows, places], -1 where no entry is.

        The position where a token has one; where it has several, the order in which entries came.
        """
        return self.positions[0] if len(self.positions) == 1 else self.order

    @property
    def next_ranks(self) -> Tensor:
        """The rank of the next entry of each row: [rows]."""
        return self.ends if len(self.positions) == 1 else self.nexts

    def settled(self, ends: Tensor) -> Tensor:
        """The length that the newest query of rows which end here is turned by, settled: [rows], 0 for None."""
        stretch = self.stamp.group.stretch
        regime = self.stamp.regime
        found = [regime.settled(stretch, np.array([end - 1]), end)[0] or 0 if end else 0 for end in ends.tolist()]
        return torch.tensor(found, dtype=torch.int64)

    def kept_lengths(self, ends: Tensor) -> Tensor:
        """The length that the keys of rows which end here should be turned by as they lie: [rows], 0 for None.

        It is the newest query's, which finds its keys ready. Where each token has another (Dynamic NTK), keys stay as
        they were written, and are turned in a copy: turned in memory for each token they would be rounded each time.
        """
        newest = self.settled(ends)
        if not isinstance(self.stamp.regime, PerRow):
            return newest
        lasting = (newest == self.settled(ends + 1)) | ~self.held.any(1)
        return torch.where(lasting, newest, self.lengths)

    def at(self, rows: Tensor, places: Tensor) -> Turned:
        """How the keys at [n] places of rows are turned, as one row of n keys."""
        by = self._turned_by(rows, places)[:, None]
        return Turned(self.stamp.group, squeezed(by), self.lengths[rows][None])

    def _turned_by(self, rows: Tensor, places: Tensor) -> Tensor:
        return self.positions[:, rows, places] + self.frames[rows]

    def rows_at(self, rows: Tensor, lengths: Tensor | None = None) -> Turned:
        """How all keys of some rows are turned; by other lengths, [rows], where given."""
        own, held = self.lengths[rows] if lengths is None else lengths, self.held[rows]
        positions = torch.where(held, self.positions[:, rows] + self.frames[rows, None], -1)
        return Turned(self.stamp.group, squeezed(positions), own[:, None].expand(held.shape))

    def turn(self, stamp: Stamp, positions: Tensor, lengths: Tensor, frames: Tensor | None = None) -> None:
        """Let entries stand elsewhere, turned by other lengths or by another group; keys that are kept rotated move.

        Args:
            stamp: what the keys are to be; kept as they were
            positions: [axes, rows, places], -1 where no entry is
            lengths: [rows]
            frames: [rows]; as they are where not given
        """
        frames = self.frames if frames is None else frames
        anew = torch.ones_like(frames, dtype=torch.bool) if stamp.group != self.stamp.group else lengths != self.lengths
        # Where all keys of a row are turned otherwise, they are turned by their positions again.
        frames = torch.where(anew, 0, frames)
        after = replace(self, stamp=stamp, positions=positions, lengths=lengths, frames=frames)
        if self.memory is not None and self.stamp.kept == "rotated":
            moves = (positions + frames[:, None] != self.positions + self.frames[:, None]).any(0)
            changed = (moves | anew[:, None]) & self.held
            # Where few are turned and the rest stays, these few will be turned again: sinks.
            few = (changed.sum(1) * 2 < self.held.sum(1)) & ~anew
            origins = self.origins
            for rows, places in _some(changed & few[:, None] & (self.origins.numbers < 0)):
                keys = self.memory.read(self.memory.keys, rows, places)
                origins = origins.with_new(rows, places, keys, self._turned_by(rows, places))
            # All are made, and refused, before the first is written.
            made = []
            for rows, places in _some(changed):
                keys = self.memory.read(self.memory.keys, rows, places)
                keys, by = origins.at(rows, places, keys, self._turned_by(rows, places))
                before = Turned(self.stamp.group, squeezed(by[:, None]), self.lengths[rows][None])
                keys = moved(keys[None], before, after.at(rows, places))[0]
                made.append((rows, places, self.storage.encode(keys)))
            self.memory.own(changed)
            for rows, places, parts in made:
                self.memory.keys.put(self.memory.index(rows, places), parts)
            self.origins = origins.without(changed & ~few[:, None])
        self.stamp, self.positions, self.lengths, self.frames = stamp, positions, lengths, frames

    def drop(self, gone: Tensor) -> None:
        """Let entries go: [rows, places], bool."""
        self.positions = torch.where(gone, -1, self.positions)
        self.order = torch.where(gone, -1, self.order)
        self.origins = self.origins.without(gone)
        self.frames = torch.where(self.held.any(1), self.frames, 0)
        index = None if self.memory is None else self.memory.release(self.held)
        if index is not None:
            nowhere = index < 0
            index = index.clamp(min=0)
            self.order = self.order.gather(1, index).masked_fill_(nowhere, -1)
            numbers = self.origins.numbers.gather(1, index).masked_fill_(nowhere, -1)
            self.origins = replace(self.origins, numbers=numbers)
            wide = index.expand(len(self.positions), -1, -1)
            self.positions = self.positions.gather(2, wide).masked_fill_(nowhere, -1)

    def room(self, needed: Tensor) -> Tensor:
        """Make free places: [rows] counts; return [rows, max of the counts] free places, the first of each row."""
        assert self.memory is not None  # noqa: S101 - whoever brings entries has made it
        self.memory.ensure(self.held, needed)
        more = self.memory.places - self.positions.shape[2]
        self.positions = torch.nn.functional.pad(self.positions, (0, more), value=-1)
        self.order = torch.nn.functional.pad(self.order, (0, more), value=-1)
        numbers = torch.nn.functional.pad(self.origins.numbers, (0, more), value=-1)
        self.origins = replace(self.origins, numbers=numbers)
        # A place without memory comes last.
        taken = self.held.long() + 2 * (self.memory.slots < 0)
        count = int(needed.max()) if len(needed) else 0
        return torch.argsort(taken, dim=1, stable=True)[:, :count]

    def check_channels(self, dim: int) -> None:
        """Raise `InputError` where keys that rotate have other channels than the scheme."""
        encoding = self.stamp.group.encoding
        if isinstance(encoding, Rotary):
            wanted = encoding.rotary_dim if self.rotary_only else encoding.head_dim
            if dim != wanted:
                raise InputError(f"k must have the {wanted} channels of {self.stamp.group.scheme}, got {dim}")

    def check_reach(self, positions: Tensor) -> None:
        """Raise `InputError` where tokens at positions, [axes, rows, tokens], cannot be turned.

        float64 does not reach them (`Stamp.reach`), or xPos does not.
        """
        encoding = self.stamp.group.encoding
        if not isinstance(encoding, Rotary) or not positions.numel():
            return
        highest = int(positions.max())
        if highest >= self.stamp.reach:
            raise InputError(
                f"positions that turn keys must be below {self.stamp.reach}, where angles in float64 are within 1e-3 "
                f"rad, got {highest}"
            )
        if len(positions) == 1:
            encoding.magnitudes(positions[positions >= 0].unique().numpy())

    def start(self, heads: int, dims: tuple[int, int], device: torch.device) -> Memory:
        """The memory, made for such keys and values; an `InputError` where it is for others."""
        self.check_channels(dims[0])
        if self.memory is None:
            if self.pool:
                self.memory = self.pool[0].rows(torch.full((self.batch,), -1))
            else:
                self.memory = self.layout.memory(self.storage, self.batch, heads, dims, device)
                if self.memory.shares:
                    self.pool.append(self.memory.rows(torch.zeros(0, dtype=torch.int64)))
            places = self.memory.places
            self.positions = torch.full((len(self.positions), self.batch, places), -1)
            self.order = torch.full((self.batch, places), -1)
            self.origins = replace(self.origins, numbers=self.order.clone())
        memory = self.memory
        for name, parts, dim in (("k", memory.keys, dims[0]), ("v", memory.values, dims[1])):
            if (parts.heads, parts.dim) != (heads, dim):
                raise InputError(f"{name} must have {parts.heads} heads of {parts.dim} channels, got {heads} of {dim}")
        return memory


def squeezed(positions: Tensor) -> Tensor:
    """[rows, tokens] of one axis, as they are of several."""
    return positions[0] if len(positions) == 1 else positions


def moved(keys: Tensor, before: Turned, after: Turned) -> Tensor:
    """Rotated keys, rotated otherwise: [rows, tokens, heads, dim]."""
    same = before.part == after.part and before.group.rope.pairs == after.group.rope.pairs
    return move_keys(keys, before, after) if same else rotate_keys(unrotate_keys(keys, before), after)


def _some(mask: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Rows and places where a mask holds, some at once."""
    rows, places = mask.nonzero(as_tuple=True)
    return list(zip(rows.split(AT_ONCE), places.split(AT_ONCE), strict=True)) if len(rows) else []
