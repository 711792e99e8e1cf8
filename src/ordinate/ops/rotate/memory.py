"""Whether q and k can be rotated in place: written once each, by nobody else."""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from ordinate.errors import InputError


def check_writable(q: Any, k: Any) -> None:
    """Raise `InputError` unless q and k can be written in place, each element once."""
    given = [(name, x) for name, x in (("q", q), ("k", k)) if x is not None and math.prod(x.shape)]
    for name, x in given:
        if _may_overlap(x):
            raise InputError(f"{name} cannot be rotated in place: it is expanded, its elements share memory")
        if hasattr(x, "flags") and not x.flags.writeable:
            raise InputError(f"{name} cannot be rotated in place: it is read-only")
        if getattr(x, "requires_grad", False) and x.is_leaf and _recording():
            raise InputError(f"{name} cannot be rotated in place: it is a leaf that requires a gradient")
    if len(given) == 2 and _share(q, k):
        raise InputError("q and k cannot be rotated in place: they share memory and would turn twice")


def check_apart(written: Mapping[str, Any], read: Mapping[str, Any]) -> None:
    """Raise `InputError` unless arrays can be written, each element once, and share no memory with what is read."""
    written, read = (
        {name: x for name, x in given.items() if x is not None and math.prod(x.shape)} for given in (written, read)
    )
    for name, x in written.items():
        if _may_overlap(x):
            raise InputError(f"{name} cannot be written: it is expanded, its elements share memory")
        if hasattr(x, "flags") and not x.flags.writeable:
            raise InputError(f"{name} cannot be written: it is read-only")
    every = [*written.items(), *read.items()]
    for i, (name, x) in enumerate(written.items()):
        for other, y in every[i + 1 :]:
            if _share(x, y):
                raise InputError(f"{name} cannot be written: it shares memory with {other}")


def _recording() -> bool:
    """Whether torch records operations for gradients now."""
    import torch

    return torch.is_grad_enabled()


def _steps(x: Any) -> list[int]:
    """Strides in bytes."""
    if isinstance(x, np.ndarray):
        return list(x.strides)
    return [stride * x.element_size() for stride in x.stride()]


def _itemsize(x: Any) -> int:
    return x.itemsize if isinstance(x, np.ndarray) else x.element_size()


def _may_overlap(x: Any) -> bool:
    """False where every axis steps over all that the smaller steps reach, as it does in every ordinary view."""
    axes = sorted((abs(step), size) for step, size in zip(_steps(x), x.shape, strict=True) if size > 1)
    reached = [_itemsize(x)]
    for step, size in axes:
        reached.append(reached[-1] + step * (size - 1))
    return any(step < below for (step, _), (below, _) in zip(axes, pairwise(reached), strict=True))


def _share(q: Any, k: Any) -> bool:
    """Whether an element of q lies in the memory of one of k."""
    if isinstance(q, np.ndarray):
        return np.shares_memory(q, k)
    if q.is_meta or not q.data_ptr() or not k.data_ptr():
        return False
    (q_low, q_high), (k_low, k_high) = _ends(q), _ends(k)
    if q_high <= k_low or k_high <= q_low:
        return False
    return np.shares_memory(_picture(q), _picture(k))


def _ends(x: Any) -> tuple[int, int]:
    """The first address of a tensor, and the one after its last."""
    reach = sum(step * (size - 1) for step, size in zip(_steps(x), x.shape, strict=True))
    return x.data_ptr(), x.data_ptr() + reach + x.element_size()


class _Place:
    """An address, shape and strides as NumPy reads them."""

    def __init__(self, x: Any) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (x.data_ptr(), True),
            "typestr": f"|V{x.element_size()}",
            "shape": tuple(x.shape),
            "strides": tuple(_steps(x)),
        }


def _picture(x: Any) -> np.ndarray:
    """An array at a tensor's address, on whatever device: it is compared, never read."""
    return np.asarray(_Place(x))
