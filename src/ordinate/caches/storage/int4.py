"""Storage as whole numbers of 4 bits."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ordinate.caches.storage._blocks import BlockScaled


@dataclass(frozen=True)
class Int4(BlockScaled):
    """Whole numbers from -7 to 7 times the scale of their block, two a byte: the even channel in the low half.

    |decode(encode(x)) - x| <= scale * (1/2 + 2^-19)        scale = max |x| of the block / 7

    As for int8, with at most 7: 3 * 7 * 2^-24 < 2^-19. The sixteenth pattern, -8, is not used: with it zero would not
    lie between the ends, and the end without it would err by a whole scale. A pattern holds its number plus 8; where
    `dim` is odd the last half byte stands for nothing.
    """

    name: ClassVar[str] = "int4"
    worst: ClassVar[float] = 0.5 / 7
    top: ClassVar[float] = 7.0

    def codes(self, quotients: Tensor) -> Tensor:
        halves = (quotients.round_() + 8).to(torch.uint8)
        if halves.shape[-1] % 2:
            halves = torch.nn.functional.pad(halves, (0, 1), value=8)
        return halves[..., 0::2] | (halves[..., 1::2] << 4)

    def numbers(self, codes: Tensor, dim: int) -> Tensor:
        halves = torch.stack((codes & 15, codes >> 4), -1).flatten(-2)[..., :dim]
        return halves.to(torch.float32) - 8

    def width(self, dim: int) -> int:
        return (dim + 1) // 2

    @property
    def code_dtype(self) -> torch.dtype:
        return torch.uint8

    def bound_by_scale(self, x: Tensor, scale: Tensor) -> Tensor:
        return (scale * (0.5 + 2.0**-19)).expand_as(x)
