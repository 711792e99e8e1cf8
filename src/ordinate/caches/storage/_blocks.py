"""Storage with a scale for each block of channels."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from ordinate.caches.storage.base import Parts, Storage, checked_numbers
from ordinate.errors import one_of, positive_integer

# The smallest normal number of float32 and of bfloat16: no scale is below it, so that none is 0 or loses digits.
SMALLEST_SCALE = 2.0**-126


@dataclass(frozen=True)
class BlockScaled(Storage):
    """Each block of channels of a head divided by a scale, what is left rounded to few bits.

    scale  = max(max |x| of the block / top, 2^-126), rounded (bfloat16: upwards)
    values = nearest code to x / scale
    x'     = values * scale

    A block of zeros comes back as zeros. Where the largest number is below top * 2^-126 the scale is 2^-126, and the
    bound is that of this scale. Blocks run along `dim`; the last is shorter where `block` does not divide it.

    Args:
        block: channels that share a scale
        scales: the dtype of scales: "float32", or "bfloat16", which costs half and is up to 2^-7 larger
    """

    top: ClassVar[float]
    """The largest code."""

    block: int = 32
    scales: Literal["float32", "bfloat16"] = "float32"

    def __post_init__(self) -> None:
        positive_integer("block", self.block)
        one_of("scales", self.scales, ("float32", "bfloat16"))

    @abstractmethod
    def codes(self, quotients: Tensor) -> Tensor:
        """What is kept of x / scale, [..., dim], at most `top` (1 + 2^-23) large: [..., width]."""

    @abstractmethod
    def numbers(self, codes: Tensor, dim: int) -> Tensor:
        """What codes stand for: [..., dim], float32, exactly."""

    @abstractmethod
    def width(self, dim: int) -> int:
        """How many codes a head has, a byte each."""

    @property
    @abstractmethod
    def code_dtype(self) -> torch.dtype: ...

    @abstractmethod
    def bound_by_scale(self, x: Tensor, scale: Tensor) -> Tensor:
        """The largest error of each number under the scale that its block has, both float64."""

    @property
    def largest(self) -> float:
        # Half of what float32 holds: times a scale that is rounded up, the largest code is still finite.
        return 2.0**127

    def encode(self, x: Tensor) -> Parts:
        numbers = checked_numbers(self.name, x, self.largest).to(torch.float32)
        scales = self._scales(numbers)
        quotients = numbers / self._over_channels(scales.to(torch.float32), x.shape[-1])
        return Parts(self.codes(quotients), scales, x.shape[-1])

    def decode(self, parts: Parts, dtype: torch.dtype = torch.float32) -> Tensor:
        assert parts.scales is not None  # noqa: S101
        scales = self._over_channels(parts.scales.to(torch.float32), parts.dim)
        return (self.numbers(parts.values, parts.dim) * scales).to(dtype)

    def empty(self, slots: tuple[int, ...], heads: int, dim: int, device: torch.device | str) -> Parts:
        values = torch.zeros(*slots, heads, self.width(dim), dtype=self.code_dtype, device=device)
        scales = torch.zeros(*slots, heads, self._blocks(dim), dtype=self._scale_dtype, device=device)
        return Parts(values, scales, dim)

    def bytes_per_head(self, dim: int) -> int:
        return self.width(dim) + self._blocks(dim) * self._scale_dtype.itemsize

    def bound(self, x: Tensor) -> Tensor:
        scales = self._scales(x.to(torch.float32)).double()
        return self.bound_by_scale(x.double(), self._over_channels(scales, x.shape[-1]))

    def _scales(self, numbers: Tensor) -> Tensor:
        dim, blocks = numbers.shape[-1], self._blocks(numbers.shape[-1])
        padded = torch.nn.functional.pad(numbers.abs(), (0, blocks * self.block - dim))
        largest = padded.reshape(*numbers.shape[:-1], blocks, self.block).amax(-1)
        scales = (largest / self.top).clamp(min=SMALLEST_SCALE)
        return scales if self.scales == "float32" else _rounded_up(scales)

    def _over_channels(self, scales: Tensor, dim: int) -> Tensor:
        return scales.repeat_interleave(self.block, -1)[..., :dim]

    def _blocks(self, dim: int) -> int:
        return -(-dim // self.block)

    @property
    def _scale_dtype(self) -> torch.dtype:
        return torch.float32 if self.scales == "float32" else torch.bfloat16


def _rounded_up(scales: Tensor) -> Tensor:
    """Positive float32 as bfloat16, none smaller: the next number up is the next pattern of bits."""
    near = scales.to(torch.bfloat16)
    return torch.where(near.to(torch.float32) < scales, (near.view(torch.int16) + 1).view(torch.bfloat16), near)
