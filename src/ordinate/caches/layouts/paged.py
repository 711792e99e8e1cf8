"""A paged cache: pages of one pool, listed for each sequence in a block table, shared until one is written."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from ordinate.caches.layouts.base import Layout, Memory
from ordinate.caches.storage import Parts, Storage
from ordinate.errors import InputError, positive_integer


@dataclass(frozen=True)
class Paged(Layout):
    """[pages, page_size, heads, dim], the pages of a sequence in any order.

    Rows that a reorder or a fork makes share their pages; a page that several hold is copied before it is written. A
    page without an entry goes back to the pool.

    Args:
        pages: how many there are, for all rows and forks together
        page_size: tokens of a page, [token]

    Source: Kwon et al. 2023, arXiv:2309.06180, section 4.
    Differs from the paper: nothing is swapped out; a pool that is full is an error.
    """

    name: ClassVar[str] = "paged"

    pages: int
    page_size: int = 16

    def __post_init__(self) -> None:
        positive_integer("pages", self.pages)
        positive_integer("page_size", self.page_size)

    def memory(
        self, storage: Storage, batch: int, heads: int, dims: tuple[int, int], device: torch.device
    ) -> "PagedMemory":
        keys, values = (storage.allocate((self.pages, self.page_size), heads, dim, device) for dim in dims)
        return PagedMemory(storage, keys, values, [0] * self.pages, [[] for _ in range(batch)])


class PagedMemory(Memory):
    """The pages of some rows of a pool.

    Args:
        storage: how numbers are kept
        keys, values: [pages, page_size] slots each, the whole pool's
        holders: how many rows hold each page; one list for all memories of the pool
        tables: the pages of each row, in order
    """

    shares = True

    def __init__(
        self, storage: Storage, keys: Parts, values: Parts, holders: list[int], tables: list[list[int]]
    ) -> None:
        super().__init__(storage, keys, values)
        self.holders = holders
        self.tables = tables
        self._number()

    @property
    def free(self) -> int:
        """How many pages of the pool nobody holds."""
        return self.holders.count(0)

    def __del__(self) -> None:
        for table in getattr(self, "tables", ()):
            self._give_back(table)

    def ensure(self, held: Tensor, needed: Tensor) -> None:
        size = self.page_size
        room = torch.tensor([len(table) * size for table in self.tables]) - held.sum(1)
        more = ((needed - room).clamp(min=0) + size - 1) // size
        found = self._take(int(more.sum()))
        for table, count in zip(self.tables, more.tolist(), strict=True):
            table.extend(found[:count])
            found = found[count:]
        self._number()

    def own(self, written: Tensor) -> None:
        size = self.page_size
        blocks = torch.nn.functional.pad(written, (0, -written.shape[1] % size)).view(len(written), -1, size).any(2)
        shared = [(row, block) for row, block in blocks.nonzero().tolist() if self.holders[self.tables[row][block]] > 1]
        # Of n that hold a page, n - 1 need a copy where all write: the last finds itself alone.
        writers: dict[int, int] = {}
        for row, block in shared:
            page = self.tables[row][block]
            writers[page] = writers.get(page, 0) + 1
        copies = sum(min(count, self.holders[page] - 1) for page, count in writers.items())
        found = self._take(copies)
        for row, block in shared:
            page = self.tables[row][block]
            if self.holders[page] == 1:
                continue
            new = found.pop()
            for parts in (self.keys, self.values):
                parts.put((new,), parts.map(lambda part, page=page: part[page].clone()))
            self.holders[page] -= 1
            self.tables[row][block] = new
        self._number()

    def savepoint(self) -> Callable[[], None]:
        tables, holders = [list(table) for table in self.tables], list(self.holders)

        def restore() -> None:
            # The pool's one list, which forks share.
            self.tables, self.holders[:] = tables, holders
            self._number()

        return restore

    def release(self, held: Tensor) -> Tensor | None:
        size, places = self.page_size, self.places
        used = held.view(len(held), -1, size).any(2) if places else held.new_zeros(len(held), 0)
        kept = []
        for table, of_row in zip(self.tables, used.tolist(), strict=True):
            kept.append([block for block in range(len(table)) if of_row[block]])
            self._give_back([page for block, page in enumerate(table) if not of_row[block]])
        if all(len(blocks) == len(table) for blocks, table in zip(kept, self.tables, strict=True)):
            return None
        self.tables = [[table[b] for b in blocks] for table, blocks in zip(self.tables, kept, strict=True)]
        self._number()
        index = torch.full((len(held), self.places), -1)
        for row, blocks in enumerate(kept):
            for new, old in enumerate(blocks):
                index[row, new * size : (new + 1) * size] = torch.arange(old * size, (old + 1) * size)
        return index

    def rows(self, rows: Tensor) -> "PagedMemory":
        tables = [list(self.tables[row]) if row >= 0 else [] for row in rows.tolist()]
        self._hold(tables)
        return PagedMemory(self.storage, self.keys, self.values, self.holders, tables)

    def fork(self) -> "PagedMemory":
        tables = [list(table) for table in self.tables]
        self._hold(tables)
        return PagedMemory(self.storage, self.keys, self.values, self.holders, tables)

    def operands(self, rows: Tensor | None, dtype: torch.dtype) -> tuple[Tensor, Tensor, dict[str, Any]]:
        found = self.views(dtype)
        if found is None:
            return *self.gathered(rows, dtype), {}
        which = range(len(self.tables)) if rows is None else rows.tolist()
        blocks = self.places // self.page_size
        table = [self.tables[row] + [0] * (blocks - len(self.tables[row])) for row in which]
        lengths = torch.tensor([len(self.tables[row]) * self.page_size for row in which])
        pages = torch.tensor(table, dtype=torch.int64).view(len(which), blocks)
        return *found, {"block_table": pages.to(self.device), "key_lengths": lengths.to(self.device)}

    def _take(self, count: int) -> list[int]:
        """Pages that nobody held, held now; an `InputError` where there are too few, and then none is taken."""
        free = [page for page, holders in enumerate(self.holders) if not holders] if count else []
        if count > len(free):
            raise InputError(
                f"the pool has {len(self.holders)} pages of {self.page_size} tokens: {count} more must be free, got "
                f"{len(free)}"
            )
        self._hold([free[:count]])
        return free[:count]

    def _hold(self, tables: list[list[int]]) -> None:
        for table in tables:
            for page in table:
                self.holders[page] += 1

    def _give_back(self, pages: list[int]) -> None:
        for page in pages:
            self.holders[page] -= 1

    def _number(self) -> None:
        size = self.page_size
        blocks = max((len(table) for table in self.tables), default=0)
        table = torch.tensor([table + [-1] * (blocks - len(table)) for table in self.tables], dtype=torch.int64)
        table = table.view(len(self.tables), blocks)
        slots = table[..., None] * size + torch.arange(size)
        self.slots = torch.where(table[..., None] < 0, -1, slots).view(len(self.tables), blocks * size)
