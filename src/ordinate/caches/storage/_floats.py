"""Storage by rounding to a type of floats."""

from typing import ClassVar

import torch
from torch import Tensor

from ordinate.caches.storage.base import Parts, Storage, checked_numbers


class Rounded(Storage):
    """Each number rounded to the nearest of a type, ties to even.

    |decode(encode(x)) - x| <= max(|x| * u / (1 + u), tiny * u)        u = eps / 2

    eps is the type's spacing at 1 and tiny its smallest normal number. Between 2^e and 2^(e+1) numbers lie eps * 2^e
    apart: the nearest is at most u * 2^e away, and what errs by that much is at least as far from 2^e, which is a
    number itself, so that it is at least (1 + u) * 2^e. Below tiny numbers lie tiny * eps apart. A number of float64
    is rounded to float32 on the way to fewer bits: 2^-24 |x| more. A number that the type holds keeps its bits.
    """

    dtype: ClassVar[torch.dtype]

    @property
    def largest(self) -> float:
        # What rounds to infinity lies from half a step past it on; all beyond it is refused.
        return torch.finfo(self.dtype).max

    def encode(self, x: Tensor) -> Parts:
        numbers = checked_numbers(self.name, x, self.largest)
        return Parts(numbers.to(self.dtype), None, x.shape[-1])

    def decode(self, parts: Parts, dtype: torch.dtype = torch.float32) -> Tensor:
        return parts.values.to(dtype)

    def empty(self, slots: tuple[int, ...], heads: int, dim: int, device: torch.device | str) -> Parts:
        return Parts(torch.zeros(*slots, heads, dim, dtype=self.dtype, device=device), None, dim)

    def bytes_per_head(self, dim: int) -> int:
        return dim * self.dtype.itemsize

    def bound(self, x: Tensor) -> Tensor:
        info = torch.finfo(self.dtype)
        half, size = info.eps / 2, x.double().abs()
        twice = 2.0**-24 if x.dtype == torch.float64 and self.dtype != torch.float32 else 0.0
        return (size * (half / (1 + half))).clamp(min=info.tiny * half) + size * twice

    def view(self, parts: Parts) -> Tensor | None:
        return parts.values
