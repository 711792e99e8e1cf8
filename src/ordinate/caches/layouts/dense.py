"""A dense cache: one array, a row a sequence."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from ordinate.caches.layouts._rows import RowMemory
from ordinate.caches.layouts.base import Layout
from ordinate.caches.storage import Storage
from ordinate.errors import positive_integer


@dataclass(frozen=True)
class Dense(Layout):
    """[batch, capacity, heads, dim]; the capacity doubles where a row needs more.

    Args:
        capacity: tokens a row at first, [token]
    """

    name: ClassVar[str] = "dense"

    capacity: int = 16

    def __post_init__(self) -> None:
        positive_integer("capacity", self.capacity)

    def memory(
        self, storage: Storage, batch: int, heads: int, dims: tuple[int, int], device: torch.device
    ) -> RowMemory:
        return RowMemory.empty(storage, batch, self.capacity, heads, dims, device)
