"""Which position each token has: explicit integers, int64, in every arrangement that models are fed.

All functions return the positions of real tokens; what a masked token gets is said in each.
"""

from ordinate.positions.grids import grid
from ordinate.positions.masks import after_mask, from_mask
from ordinate.positions.modalities import multimodal
from ordinate.positions.packed import from_cu_seqlens, from_lengths, from_segments, segments
from ordinate.positions.ranges import arange
from ordinate.positions.shards import LAYOUTS, shard, shard_indices, unshard

__all__ = [
    "LAYOUTS",
    "after_mask",
    "arange",
    "from_cu_seqlens",
    "from_lengths",
    "from_mask",
    "from_segments",
    "grid",
    "multimodal",
    "segments",
    "shard",
    "shard_indices",
    "unshard",
]
