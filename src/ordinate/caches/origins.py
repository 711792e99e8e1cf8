"""What keys were before they were turned on: a key that is turned again and again is turned from there each time.

Memory would round each turn: in half precision a turn by less than a rounding is lost, and so were a thousand of them.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Origins:
    """Keys as they were read before their first move.

    Args:
        keys: [origins, heads, dim], float32; None where there are none
        positions: [axes, origins], int64: by which they are turned, [token]
        numbers: [rows, places], int64: the origin of the entry at each place, -1 where it is what memory holds
    """

    keys: Tensor | None
    positions: Tensor
    numbers: Tensor

    def at(self, rows: Tensor, places: Tensor, keys: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Keys, and the positions by which they are turned, in place of what memory holds.

        Args:
            rows, places: [n]
            keys: [n, heads, dim], what memory holds there
            positions: [axes, n], by which that is turned
        """
        if self.keys is None:
            return keys, positions
        number = self.numbers[rows, places]
        has, number = number >= 0, number.clamp(min=0)
        device = keys.device
        origin = self.keys[number.to(device)].to(keys.dtype)
        return torch.where(has.to(device)[:, None, None], origin, keys), torch.where(
            has, self.positions[:, number], positions
        )

    def with_new(self, rows: Tensor, places: Tensor, keys: Tensor, positions: Tensor) -> "Origins":
        """These and what memory holds at [n] more places; origins that no place has any more go."""
        used, numbers = self.numbers.unique(return_inverse=True)
        has = used >= 0
        numbers = torch.where(self.numbers >= 0, numbers - int((~has).sum()), -1)
        known = used[has]
        held = keys[:0] if self.keys is None else self.keys[known.to(keys.device)]
        numbers[rows, places] = torch.arange(len(known), len(known) + len(rows))
        return Origins(torch.cat([held, keys]), torch.cat([self.positions[:, known], positions], 1), numbers)

    def without(self, gone: Tensor) -> "Origins":
        """Without those of some places: [rows, places], bool."""
        return replace(self, numbers=torch.where(gone, -1, self.numbers))
