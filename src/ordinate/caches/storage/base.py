"""What every storage does: numbers become parts, parts become numbers, and the error has a bound."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from ordinate.errors import InputError, got, positive_integer

Index = tuple[Tensor | slice | int, ...]
"""Slots, as torch indexes the leading axes of `Parts`: an entry an axis; () for all slots."""


@dataclass(frozen=True)
class Parts:
    """What a storage keeps of numbers [*slots, heads, dim].

    Args:
        values: [*slots, heads, width], of the storage's own dtype; `dim` wide, or half of it where two share a byte
        scales: [*slots, heads, blocks], or None where the storage has none
        dim: how wide the numbers are
    """

    values: Tensor
    scales: Tensor | None
    dim: int

    def map(self, function: Callable[[Tensor], Tensor]) -> "Parts":
        """The same function on each tensor: to select, repeat or copy slots as they are, without a rounding."""
        return Parts(function(self.values), None if self.scales is None else function(self.scales), self.dim)

    def put(self, index: Index, parts: "Parts") -> None:
        """Write parts into slots as they are, without a rounding.

        Args:
            index: which slots
            parts: of the same storage, [*indexed, heads, ...]; must share no memory with these slots
        """
        self.values[index] = parts.values
        if self.scales is not None and parts.scales is not None:
            self.scales[index] = parts.scales

    @property
    def slots(self) -> torch.Size:
        """The shape of what comes before the heads."""
        return self.values.shape[:-2]

    @property
    def heads(self) -> int:
        return self.values.shape[-2]

    @property
    def bytes(self) -> int:
        """What these numbers occupy."""
        return sum(t.numel() * t.element_size() for t in (self.values, self.scales) if t is not None)


class Storage(ABC):
    """A way to keep numbers; a frozen value, whose fields are its settings."""

    name: ClassVar[str]
    worst: ClassVar[float]
    """The largest error of a number next to the largest number of its block (floats: next to itself), [1]; the exact
    bound is `bound`'s."""

    @classmethod
    def with_settings(cls, settings: Mapping[str, Any]) -> Self:
        """The storage with these settings, or an `InputError` that names one that it does not have."""
        known = [field.name for field in fields(cls)]  # pyright: ignore[reportArgumentType]
        for key in settings:
            if key not in known:
                raise InputError(f"storage {cls.name!r} has {', '.join(known) or 'no settings'}, got {key}")
        return cls(**settings)

    @property
    @abstractmethod
    def largest(self) -> float:
        """The largest number that can be stored."""

    def check(self, x: Tensor) -> None:
        """Raise `InputError` where `encode` would, before anything is changed for numbers that cannot be stored."""
        checked_numbers(self.name, x, self.largest)

    @abstractmethod
    def encode(self, x: Tensor) -> Parts:
        """What is kept of numbers.

        Args:
            x: [..., heads, dim], of any floating type, finite

        Returns:
            Parts of slots [...]

        Raises:
            InputError: x is not of floats, is infinite or NaN, or beyond what this storage can hold
        """

    @abstractmethod
    def decode(self, parts: Parts, dtype: torch.dtype = torch.float32) -> Tensor:
        """The numbers that parts stand for: [*slots, heads, dim], computed in float32, rounded once to `dtype`."""

    @abstractmethod
    def empty(self, slots: tuple[int, ...], heads: int, dim: int, device: torch.device | str) -> Parts:
        """`allocate` of what has been checked."""

    @abstractmethod
    def bytes_per_head(self, dim: int) -> int:
        """What one head of one token occupies, exactly, [byte]; keys and values each count."""

    @abstractmethod
    def bound(self, x: Tensor) -> Tensor:
        """The largest |decode(encode(x)) - x| that can be, decoded to float32.

        Args:
            x: [..., heads, dim], as for `encode`

        Returns:
            [..., heads, dim], float64, of each number
        """

    def view(self, parts: Parts) -> Tensor | None:
        """The numbers as they lie, where attention can read them so, without a copy; None where they need `decode`."""
        del parts

    def allocate(self, slots: tuple[int, ...], heads: int, dim: int, device: torch.device | str = "cpu") -> Parts:
        """Memory for numbers, once, all 0.

        Args:
            slots: such as (batch, capacity), or (pages, page_size)
            heads: key-value heads
            dim: channels of a head
            device: where

        Returns:
            Parts of these slots, to be written by `write`
        """
        counts = tuple(positive_integer("slots", n) for n in slots)
        return self.empty(counts, positive_integer("heads", heads), positive_integer("dim", dim), device)

    def write(self, parts: Parts, index: Index, x: Tensor) -> None:
        """Encode numbers into slots.

        Args:
            parts: from `allocate`; written in place
            index: which slots; integers from 0 on
            x: [*indexed, heads, dim]

        Raises:
            InputError: as `encode`, a shape that does not fit, or a slot that is not there; then nothing is written
        """
        check_index(parts, index)
        # One number repeated by stride 0: torch says the shape, and copies nothing of the cache.
        indexed = parts.values.new_zeros(()).expand(parts.slots)[index].shape
        if x.shape != (*indexed, parts.heads, parts.dim):
            raise InputError(f"x must be {[*indexed, parts.heads, parts.dim]} as the slots are, got {[*x.shape]}")
        parts.put(index, self.encode(x))

    def read(self, parts: Parts, index: Index = (), dtype: torch.dtype = torch.float32) -> Tensor:
        """The numbers in slots.

        Args:
            parts: from `allocate`
            index: which slots; () for all
            dtype: what to decode to

        Returns:
            [*indexed, heads, dim], in new memory

        Raises:
            InputError: a slot that is not there
        """
        check_index(parts, index)
        # An index of slices is a view, which a storage that has nothing to compute would hand out.
        decoded = self.decode(parts.map(lambda part: part[index]), dtype)
        shared = decoded.untyped_storage().data_ptr() == parts.values.untyped_storage().data_ptr()
        return decoded.clone() if shared else decoded


def check_index(parts: Parts, index: Index) -> None:
    """Raise `InputError` where an index has more axes than slots do, or names a slot that is not there."""
    if not isinstance(index, tuple) or len(index) > len(parts.slots):
        raise InputError(f"index must be a tuple of at most {len(parts.slots)} entries, an axis each, got {got(index)}")
    for axis, (entry, count) in enumerate(zip(index, parts.slots, strict=False)):
        if isinstance(entry, slice):
            continue
        places = torch.as_tensor(entry)
        if places.dtype not in (torch.int64, torch.int32):
            raise InputError(f"slots must be integers, int32 or int64, or slices, got {places.dtype} on axis {axis}")
        if places.numel():
            low, high = int(places.min()), int(places.max())
            if low < 0 or high >= count:
                raise InputError(f"slots of axis {axis} must be from 0 to {count - 1}, got {low} to {high}")


def checked_numbers(name: str, x: Tensor, largest: float) -> Tensor:
    """`x` in float32 (float64 stays), or an `InputError` unless it is of floats, finite and within +-`largest`."""
    if not isinstance(x, Tensor) or not x.is_floating_point() or x.ndim < 2:
        shape = f"{x.dtype} {[*x.shape]}" if isinstance(x, Tensor) else got(x)
        raise InputError(f"{name} stores floats [..., heads, dim], got {shape}")
    if x.dtype != torch.float64:
        x = x.to(torch.float32)
    highest = float(x.abs().amax()) if x.numel() else 0.0
    if not highest <= largest:
        if math.isfinite(highest):
            raise InputError(f"{name} holds numbers up to {largest:g}, got {highest:g}")
        place = [int(i) for i in (~torch.isfinite(x)).nonzero()[0]]
        raise InputError(f"{name} stores finite numbers, got {float(x[tuple(place)])} at {place}")
    return x
