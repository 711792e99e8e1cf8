"""Memory with a page of its own for each row: dense caches and rings."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ordinate.caches.layouts.base import Memory
from ordinate.caches.storage import Parts, Storage


class RowMemory(Memory):
    """[batch, capacity] slots. Places that are free again are used again, the first of them first.

    Args:
        storage: how numbers are kept
        keys, values: [batch, capacity] slots each
        settled: the capacity of a ring whose calls bring one token each: what is beyond it is given back; None where a
            row grows without bound, and then by doubling
    """

    def __init__(self, storage: Storage, keys: Parts, values: Parts, settled: int | None = None) -> None:
        super().__init__(storage, keys, values)
        self.settled = settled
        self._number()

    @classmethod
    def empty(
        cls,
        storage: Storage,
        batch: int,
        capacity: int,
        heads: int,
        dims: tuple[int, int],
        device: torch.device,
        settled: int | None = None,
    ) -> "RowMemory":
        """Memory for rows of this capacity, [token]."""
        keys, values = (storage.allocate((batch, capacity), heads, dim, device) for dim in dims)
        return cls(storage, keys, values, settled)

    def ensure(self, held: Tensor, needed: Tensor) -> None:
        wanted = int((held.sum(1) + needed).max()) if len(held) else 0
        capacity = self.places
        if wanted <= capacity:
            return
        grown = wanted if self.settled is not None else max(wanted, 2 * capacity)
        for name in ("keys", "values"):
            old: Parts = getattr(self, name)
            new = self.storage.allocate((len(held), grown), old.heads, old.dim, self.device)
            new.put((slice(None), slice(0, capacity)), old)
            setattr(self, name, new)
        self._number()

    def own(self, written: Tensor) -> None:
        del written

    def savepoint(self) -> Callable[[], None]:
        keys, values = self.keys, self.values

        def restore() -> None:
            self.keys, self.values = keys, values
            self._number()

        return restore

    def release(self, held: Tensor) -> Tensor | None:
        count = int(held.sum(1).max()) if len(held) else 0
        if self.settled is None or self.places <= 2 * self.settled or count > self.settled:
            return None
        # Entries move to the first places, in their order.
        index = torch.argsort(held.logical_not().long(), dim=1, stable=True)[:, : self.settled]
        rows = torch.arange(len(held))[:, None].to(self.device)
        where = index.to(self.device)
        self.keys, self.values = (parts.map(lambda part: part[rows, where]) for parts in (self.keys, self.values))
        self._number()
        return torch.where(held.gather(1, index), index, -1)

    def rows(self, rows: Tensor) -> "RowMemory":
        where = rows.clamp(min=0).to(self.device)
        keys, values = (parts.map(lambda part: part[where]) for parts in (self.keys, self.values))
        return RowMemory(self.storage, keys, values, self.settled)

    def fork(self) -> "RowMemory":
        keys, values = (parts.map(torch.clone) for parts in (self.keys, self.values))
        return RowMemory(self.storage, keys, values, self.settled)

    def operands(self, rows: Tensor | None, dtype: torch.dtype) -> tuple[Tensor, Tensor, dict[str, Any]]:
        found = self.views(dtype)
        if found is None:
            return *self.gathered(rows, dtype), {}
        if rows is not None:
            if len(rows) == 1:
                found = found[0][int(rows) : int(rows) + 1], found[1][int(rows) : int(rows) + 1]
            else:
                found = found[0][rows.to(self.device)], found[1][rows.to(self.device)]
        return *found, {}

    def _number(self) -> None:
        batch, capacity = self.keys.slots
        self.slots = torch.arange(batch * capacity).view(batch, capacity)
