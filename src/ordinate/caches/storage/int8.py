"""Storage as whole numbers of 8 bits."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ordinate.caches.storage._blocks import BlockScaled


@dataclass(frozen=True)
class Int8(BlockScaled):
    """Whole numbers from -127 to 127 times the scale of their block.

    |decode(encode(x)) - x| <= scale * (1/2 + 2^-15)        scale = max |x| of the block / 127

    The nearest whole number is at most 1/2 away. The quotient x / scale, the product with the scale and x itself
    (of float64) are rounded to float32, each by 2^-24 of at most 127 (1 + 2^-23): 3 * 127 * 2^-24 < 2^-15; a scale
    that float32 rounded down asks for up to 127 (1 + 2^-24), of which 127 is nearest.
    """

    name: ClassVar[str] = "int8"
    worst: ClassVar[float] = 0.5 / 127
    top: ClassVar[float] = 127.0

    def codes(self, quotients: Tensor) -> Tensor:
        return quotients.round_().to(torch.int8)

    def numbers(self, codes: Tensor, dim: int) -> Tensor:
        del dim
        return codes.to(torch.float32)

    def width(self, dim: int) -> int:
        return dim

    @property
    def code_dtype(self) -> torch.dtype:
        return torch.int8

    def bound_by_scale(self, x: Tensor, scale: Tensor) -> Tensor:
        return (scale * (0.5 + 2.0**-15)).expand_as(x)
