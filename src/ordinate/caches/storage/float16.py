"""Storage as float16."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from ordinate.caches.storage._floats import Rounded


@dataclass(frozen=True)
class Float16(Rounded):
    """16 bits, 11 of them significant, up to 65504.

    |decode(encode(x)) - x| <= |x| / (2^11 + 1) (below the smallest normal number: as `Rounded` says)
    """

    name: ClassVar[str] = "float16"
    worst: ClassVar[float] = 1 / (2**11 + 1)
    dtype: ClassVar[torch.dtype] = torch.float16
