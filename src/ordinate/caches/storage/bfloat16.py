"""Storage as bfloat16."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from ordinate.caches.storage._floats import Rounded


@dataclass(frozen=True)
class Bfloat16(Rounded):
    """16 bits, 8 of them significant, the range of float32.

    |decode(encode(x)) - x| <= |x| / (2^8 + 1) (below the smallest normal number: as `Rounded` says)
    """

    name: ClassVar[str] = "bfloat16"
    worst: ClassVar[float] = 1 / (2**8 + 1)
    dtype: ClassVar[torch.dtype] = torch.bfloat16
