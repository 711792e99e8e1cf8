"""Keys and values on their way from one cache to another."""

from dataclasses import dataclass

from torch import Tensor

from ordinate.caches.stamp import Stamp


@dataclass(frozen=True)
class Entries:
    """What some rows of a cache hold, in the order of their positions.

    Args:
        keys: [rows, tokens, heads, dim], as `stamp.kept` says
        values: [rows, tokens, heads, value_dim]
        positions: [rows, tokens], int64, [token]; [axes, rows, tokens] for several axes; -1 where a row has no more
        lengths: [rows], int64: the length that the keys of a row were turned by, settled; 0 for None, [token]
        stamp: what the keys were made with
    """

    keys: Tensor
    values: Tensor
    positions: Tensor
    lengths: Tensor
    stamp: Stamp
