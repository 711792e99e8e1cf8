"""What every layout does: rows of places, each place a slot of memory, or none yet."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor

from ordinate.caches.storage import Parts, Storage


class Memory(ABC):
    """Keys and values in slots, and which slot each place of each row is.

    A row of a batch has places 0, 1, 2, ...; the cache knows which of them hold an entry. A place keeps its number
    until `release` says otherwise. Slots are page * page_size + offset, as in `rotate_into_cache_`.

    Args:
        storage: how numbers are kept
        keys, values: [pages, page_size] slots each
    """

    def __init__(self, storage: Storage, keys: Parts, values: Parts) -> None:
        self.storage = storage
        self.keys = keys
        self.values = values

    shares: ClassVar[bool] = False
    """Whether rows may share memory, so that `own` has something to do."""

    slots: Tensor
    """[batch, places], int64, on the host: the slot of each place; -1 where a row has no memory."""

    @property
    def page_size(self) -> int:
        """Slots of a page."""
        return self.keys.slots[1]

    @property
    def places(self) -> int:
        """How many places the longest row has."""
        return self.slots.shape[1]

    @property
    def device(self) -> torch.device:
        """Where keys and values are."""
        return self.keys.values.device

    @property
    def bytes(self) -> int:
        """What keys and values occupy, slots that hold nothing included."""
        return self.keys.bytes + self.values.bytes

    @abstractmethod
    def ensure(self, held: Tensor, needed: Tensor) -> None:
        """Make room, or raise `InputError` and change nothing.

        Args:
            held: [batch, places], bool: which places hold an entry
            needed: [batch], int64: how many free places each row must have
        """

    @abstractmethod
    def own(self, written: Tensor) -> None:
        """Make these places writable: what others share is copied first. [batch, places], bool."""

    @abstractmethod
    def savepoint(self) -> Callable[[], None]:
        """A function that undoes `ensure`, `own` and `release`, as long as nothing was written since."""

    @abstractmethod
    def release(self, held: Tensor) -> Tensor | None:
        """Give back what no entry needs.

        Args:
            held: [batch, places], bool: which places hold an entry

        Returns:
            [batch, new places], int64: which old place each is, -1 where none; None where all kept their numbers
        """

    @abstractmethod
    def rows(self, rows: Tensor) -> "Memory":
        """The memory of these rows, in this order, -1 for one without an entry; this object is let go."""

    @abstractmethod
    def fork(self) -> "Memory":
        """Another memory with the same entries: what is written to one is not seen in the other."""

    @abstractmethod
    def operands(self, rows: Tensor | None, dtype: torch.dtype) -> tuple[Tensor, Tensor, dict[str, Any]]:
        """Keys and values of rows as `ordinate.ops.attend` reads them.

        Args:
            rows: [rows], int64; None for all
            dtype: of the queries

        Returns:
            k, v, and `block_table` with `key_lengths` where k and v are pages: without a copy where the storage's
            numbers can be read as they lie and are of this dtype
        """

    def read(self, parts: Parts, rows: Tensor, places: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """The numbers at places of rows: [*places, heads, dim], in new memory; where no memory is, any."""
        return self.storage.read(parts, self.index(rows, places), dtype)

    def write(self, parts: Parts, rows: Tensor, places: Tensor, x: Tensor) -> None:
        """Write numbers, [*places, heads, dim], to places of rows."""
        self.storage.write(parts, self.index(rows, places), x)

    def index(self, rows: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """Page and offset of places of rows."""
        slots = self.slots[rows, places].clamp(min=0).to(self.device)
        return slots // self.page_size, slots % self.page_size

    def gathered(self, rows: Tensor | None, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """All keys and values of rows in new memory: [rows, places, heads, dim]."""
        which = torch.arange(len(self.slots)) if rows is None else rows
        places = torch.arange(self.places)[None]
        k, v = (self.read(parts, which[:, None], places, dtype) for parts in (self.keys, self.values))
        return k, v

    def views(self, dtype: torch.dtype) -> tuple[Tensor, Tensor] | None:
        """All pages as they lie, [pages, page_size, heads, dim], where numbers of this dtype can be read so."""
        k, v = self.storage.view(self.keys), self.storage.view(self.values)
        if k is None or v is None or k.dtype != dtype or v.dtype != dtype:
            return None
        return k, v


class Layout(ABC):
    """A way in which entries lie in memory: a frozen value, whose fields are its settings."""

    name: ClassVar[str]

    @property
    def reach(self) -> int | None:
        """How many tokens a query sees at most, itself included; None for all, [token]."""
        return None

    @property
    def sinks(self) -> int:
        """Keys at positions below it are kept and seen however far away, [token]."""
        return 0

    @abstractmethod
    def memory(self, storage: Storage, batch: int, heads: int, dims: tuple[int, int], device: torch.device) -> Memory:
        """Memory for a batch of rows without entries.

        Args:
            storage: how numbers are kept
            batch: rows
            heads: key-value heads
            dims: channels of a key and of a value
            device: where
        """
