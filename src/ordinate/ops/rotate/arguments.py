"""What may be given to `rotate`: checked before anything is read or written, the same for every backend."""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ordinate.errors import InputError, got, one_of

Pairing = Literal["half", "interleaved", "interleaved-in-half-out"]
Part = Literal["first", "last", "proportional"]


@dataclass(frozen=True)
class Turn:
    """How to rotate: which channels pair, which of them turn, and which way."""

    pairing: Pairing
    part: Part
    inverse: bool

    def __post_init__(self) -> None:
        one_of("pairing", self.pairing, get_args(Pairing))
        one_of("part", self.part, get_args(Part))
        if not isinstance(self.inverse, bool):
            raise InputError(f"inverse must be True or False, got {got(self.inverse)}")


def rotary_start(x: Any, pairs: int, part: Part) -> int:
    """The first channel of a head that turns."""
    return x.shape[-1] - 2 * pairs if part == "last" else 0


def dtype_name(array: Any) -> str:
    """'float32' for NumPy and torch alike."""
    return str(array.dtype).removeprefix("torch.")


def check_arguments(q: Any, k: Any, cos: Any, sin: Any, positions: Any, turn: Turn) -> None:
    """Raise `InputError` unless arrays of one library fit together; positions must lie inside the table."""
    if len(cos.shape) != 2 or tuple(cos.shape) != tuple(sin.shape) or cos.shape[1] < 1:
        raise InputError(
            f"cos and sin must both have shape [table, pairs], got {list(cos.shape)} and {list(sin.shape)}"
        )
    for name, table in (("cos", cos), ("sin", sin)):
        if dtype_name(table) != "float32":
            raise InputError(f"{name} must be float32, got {dtype_name(table)}")
    given = {name: x for name, x in (("q", q), ("k", k)) if x is not None}
    for name, x in given.items():
        _check_heads(name, x, cos.shape[1], turn.part)
    leads = [tuple(x.shape[:-2]) for x in given.values()]
    if leads[0] != leads[-1]:
        raise InputError(f"q and k must have the same batch and tokens, got {list(leads[0])} and {list(leads[1])}")
    _check_positions(positions, leads[0], cos.shape[0])


def _check_heads(name: str, x: Any, pairs: int, part: Part) -> None:
    if len(x.shape) not in (3, 4):
        raise InputError(
            f"{name} must have shape [batch, tokens, heads, dim] or [tokens, heads, dim], got {list(x.shape)}"
        )
    if x.shape[-1] < 2 * pairs:
        raise InputError(f"{name} must have at least {2 * pairs} channels for {pairs} pairs, got {x.shape[-1]}")
    if part == "proportional" and x.shape[-1] != 2 * pairs:
        raise InputError(
            f"{name} must have exactly {2 * pairs} channels: a proportional table has a pair for "
            f"every two channels, frequency 0 included, got {x.shape[-1]}"
        )


def _check_positions(positions: Any, lead: tuple[int, ...], rows: int) -> None:
    tokens = lead[-1]
    if positions is None:
        if tokens > rows:
            raise InputError(f"the table has {rows} positions, too few for {tokens} tokens")
        return
    if dtype_name(positions) not in ("int32", "int64"):
        raise InputError(f"positions must be int32 or int64, got {dtype_name(positions)}")
    if tuple(positions.shape) not in ((tokens,), lead):
        wanted = f"[{tokens}]" if len(lead) == 1 else f"[{tokens}] or {list(lead)}"
        raise InputError(f"positions must have shape {wanted}, got {list(positions.shape)}")
    # A meta tensor has a shape and no values.
    if math.prod(positions.shape) == 0 or getattr(positions, "is_meta", False):
        return
    lowest, highest = int(positions.min()), int(positions.max())
    if lowest < 0 or highest >= rows:
        raise InputError(f"positions must lie in the table, 0 to {rows - 1}, got {lowest if lowest < 0 else highest}")


def check_writable(q: Any, k: Any) -> None:
    """Raise `InputError` unless q and k can be written in place, each element once."""
    for name, x in (("q", q), ("k", k)):
        if x is None or math.prod(x.shape) == 0:
            continue
        strides = x.strides if hasattr(x, "strides") else x.stride()
        if any(stride == 0 and size > 1 for stride, size in zip(strides, x.shape, strict=True)):
            raise InputError(f"{name} cannot be rotated in place: it is expanded, its elements share memory")
        if hasattr(x, "flags") and not x.flags.writeable:
            raise InputError(f"{name} cannot be rotated in place: it is read-only")
        if getattr(x, "requires_grad", False) and x.is_leaf and _recording():
            raise InputError(f"{name} cannot be rotated in place: it is a leaf that requires a gradient")
    both = q is not None and k is not None and math.prod(q.shape) and math.prod(k.shape)
    if both and _address(q) == _address(k) != 0:
        raise InputError("q and k cannot be rotated in place: they start at the same memory and would turn twice")


def _recording() -> bool:
    """Whether torch records operations for gradients now."""
    import torch

    return torch.is_grad_enabled()


def _address(x: Any) -> int:
    """Where the first element lies; 0 on the meta device."""
    return x.ctypes.data if hasattr(x, "ctypes") else x.data_ptr()
