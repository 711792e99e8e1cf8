"""Tables of cos and sin that `ordinate.ops.attend` reads while it turns q and keys."""

import numpy as np
import torch
from torch import Tensor

from ordinate.caches.transaction import ordinary_tensors
from ordinate.caches.turning import axes_of
from ordinate.errors import InputError, positive_integer
from ordinate.spec import LayerGroup


class Tables:
    """float32 rows of positions 0, 1, 2, ... for the lengths that were asked for last; layers may share one.

    Args:
        group: a group that rotates by one position a token, q and k alike
        lengths: how many lengths' tables are held, 8 * pairs bytes a position each

    Raises:
        InputError: nothing rotates in this group, or it has no table for both q and k
    """

    def __init__(self, group: LayerGroup, lengths: int = 2) -> None:
        if not one_table(group):
            raise InputError(f"{group.scheme} has no table of one position a token for both q and k")
        self.group = group
        self.lengths = positive_integer("lengths", lengths)
        self._made: dict[int, tuple[Tensor, Tensor]] = {}

    def rows(self, end: int, length: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """The rows of positions 0 to end - 1, and perhaps more.

        Args:
            end: how many positions must be there, [token]
            length: the length that the table is made for, settled; 0 for None, [token]
            device: where

        Returns:
            cos, sin: [at least end, pairs] each, float32, magnitude included
        """
        made = self._made.pop(length, None)
        if made is None or len(made[0]) < end or made[0].device != device:
            # What grows by doubling is made anew a few times only.
            count = end if length else max(end, 256, 0 if made is None else 2 * len(made[0]))
            cos, sin = self.group.table(np.arange(count), length or None)
            with ordinary_tensors():
                made = torch.from_numpy(cos).to(device), torch.from_numpy(sin).to(device)
        self._made[length] = made
        while len(self._made) > self.lengths:
            del self._made[next(iter(self._made))]
        return made


def one_table(group: LayerGroup) -> bool:
    """Whether q and k of a group turn by one and the same table, a row a position."""
    return (
        group.rotary_dim is not None
        and axes_of(group) == 1
        and group.rope.magnitudes(np.zeros(0, dtype=np.int64)) is None
    )
