"""A ring: a sliding window whose oldest entries make room for the newest, and sinks that stay."""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from ordinate.caches.layouts._rows import RowMemory
from ordinate.caches.layouts.base import Layout
from ordinate.caches.storage import Storage
from ordinate.errors import InputError, non_negative_integer, positive_integer
from ordinate.spec import LayerGroup


@dataclass(frozen=True)
class Ring(Layout):
    """[batch, keep_first + window, heads, dim]; a call that brings n tokens needs n - 1 more, until the next call.

    A query sees `window` tokens, itself included, and the first `keep_first` positions. What no later query can see is
    overwritten; to ask for it again, after a rewind, is an error.

    Args:
        window: how many tokens a query sees, itself included; None for the group's sliding window, [token]
        keep_first: how many first positions stay (StreamingLLM's sinks), [token]
    """

    name: ClassVar[str] = "ring"

    window: int | None = None
    keep_first: int = 0

    def __post_init__(self) -> None:
        if self.window is not None:
            positive_integer("window", self.window)
        non_negative_integer("keep_first", self.keep_first)

    @property
    def reach(self) -> int | None:
        return self.window

    @property
    def sinks(self) -> int:
        return self.keep_first

    def of(self, group: LayerGroup) -> "Ring":
        """This ring with the window of a group; an `InputError` where there is none, or another."""
        own, given = self.window, group.sliding_window
        if own is None and given is None:
            raise InputError(f"a ring needs a window: group {group.layer_type!r} has no sliding window, got None")
        if own is not None and given is not None and own != given:
            raise InputError(f"a ring must have the group's sliding window of {given} tokens, got {own}")
        return replace(self, window=given if own is None else own)

    def memory(
        self, storage: Storage, batch: int, heads: int, dims: tuple[int, int], device: torch.device
    ) -> RowMemory:
        capacity = self.keep_first + positive_integer("window", self.window)
        return RowMemory.empty(storage, batch, capacity, heads, dims, device, settled=capacity)
