"""Tables that a module may keep between calls, which no cast, device or checkpoint can spoil."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from ordinate.errors import positive_integer


class KeepsRows(nn.Module):
    """A module that computes float32 table rows for positions when they are needed, and keeps the first ones.

    Rows are no buffers: `half` and `to(dtype)` leave them float32, `to_empty` cannot leave them uninitialised,
    FSDP does not shard them, no state dict has them. They follow the module to a device, and the positions
    asked for to theirs. A row is computed once; what is kept changes the time a call takes, not its result.

    Args:
        held: how many positions may be kept
    """

    def __init__(self, held: int) -> None:
        super().__init__()
        self.held = positive_integer("held", held)
        self._rows: tuple[Tensor, ...] = ()
        self._device = torch.device("cpu")

    @abstractmethod
    def _compute(self, positions: np.ndarray) -> tuple[Tensor, ...]:
        """The rows of these positions in each table: [positions, width] each, float32, on the CPU."""

    def _kept(self, positions: Tensor) -> tuple[Tensor, ...] | None:
        """Tables whose row p is position p's, for all these positions; None where they go beyond what is kept."""
        if positions.numel() == 0 or positions.is_meta:
            return None
        lowest, highest = (int(end) for end in positions.aminmax())
        if lowest < 0 or highest >= self.held:
            return None
        return self._reach(highest + 1, positions.device)

    # Tensors made in inference mode could not be saved for a later backward pass.
    @torch.inference_mode(False)
    def _reach(self, count: int, device: torch.device) -> tuple[Tensor, ...]:
        have = len(self._rows[0]) if self._rows else 0
        rows = tuple(table.to(device) for table in self._rows)
        if have < count:
            # Twice as many as before, so that decoding token by token seldom computes.
            wanted = np.arange(have, min(max(count, 2 * have), self.held))
            new = tuple(table.to(device) for table in self._compute(wanted))
            rows = tuple(torch.cat(ends) for ends in zip(rows, new, strict=True)) if rows else new
        self._rows = rows
        return rows

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Follow `to`, `cuda` and `to_empty` to a device; a change of dtype is nothing to the rows."""
        super()._apply(fn, recurse)
        device = fn(torch.empty(0, device=self._device)).device
        if device.type != "meta":
            self._device = device
            self._rows = tuple(table.to(device) for table in self._rows)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles go without kept rows: they are made again when they are needed."""
        return self.__dict__ | {"_rows": ()}
