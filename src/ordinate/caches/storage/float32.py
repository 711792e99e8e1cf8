"""Storage as float32."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from ordinate.caches.storage._floats import Rounded


@dataclass(frozen=True)
class Float32(Rounded):
    """32 bits, 24 of them significant: what float32 attention computes with comes back with its bits.

    |decode(encode(x)) - x| <= |x| / (2^24 + 1) (below the smallest normal number: as `Rounded` says)
    """

    name: ClassVar[str] = "float32"
    worst: ClassVar[float] = 1 / (2**24 + 1)
    dtype: ClassVar[torch.dtype] = torch.float32
