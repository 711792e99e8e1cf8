"""Storage as floats of 8 bits."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ordinate.caches.storage._blocks import BlockScaled


@dataclass(frozen=True)
class Fp8(BlockScaled):
    """Floats e4m3 (4 bits of exponent, 3 after the point, up to 448, no infinity) times the scale of their block.

    |decode(encode(x)) - x| <= max(|x| / 17, scale / 1024) * (1 + 2^-17)        scale = max |x| of the block / 448

    Between 2^e and 2^(e+1) numbers lie 2^(e-3) apart: the nearest is at most 2^(e-4) away, and what errs by that much
    is at least 17/16 of 2^e. Below 2^-6 they lie 2^-9 apart. Quotient, product and x itself (of float64) are rounded
    to float32, each by 2^-24 of |x|: together less than 2^-17 of |x| / 17, and what lies above 448 is nearest to 448.
    A small number beside a large one keeps its digits down to 2^-6 / 448 of it, where int8 has a step of 1/127.

    The patterns are kept as uint8, since not all operations of torch take floats of 8 bits.

    Source: Micikevicius et al. 2022, arXiv:2209.05433, section 3.
    """

    name: ClassVar[str] = "fp8"
    worst: ClassVar[float] = 1 / 17
    top: ClassVar[float] = 448.0

    def codes(self, quotients: Tensor) -> Tensor:
        return quotients.to(torch.float8_e4m3fn).view(torch.uint8)

    def numbers(self, codes: Tensor, dim: int) -> Tensor:
        del dim
        return codes.view(torch.float8_e4m3fn).to(torch.float32)

    def width(self, dim: int) -> int:
        return dim

    @property
    def code_dtype(self) -> torch.dtype:
        return torch.uint8

    def bound_by_scale(self, x: Tensor, scale: Tensor) -> Tensor:
        return torch.maximum(x.abs() / 17, scale / 1024) * (1 + 2.0**-17)
