"""What may be given to `rotate`: checked before anything is read or written, the same for every backend."""

import math
import sys
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ordinate.errors import MAXIMUM_POSITION, InputError, finite, got, one_of

Pairing = Literal["half", "interleaved", "interleaved-in-half-out"]
Part = Literal["first", "last", "proportional"]
PAIRINGS, PARTS = get_args(Pairing), get_args(Part)


@dataclass(frozen=True)
class Turn:
    """How to rotate: which channels pair, which of them turn, and which way."""

    pairing: Pairing
    part: Part
    inverse: bool

    def __post_init__(self) -> None:
        one_of("pairing", self.pairing, PAIRINGS)
        one_of("part", self.part, PARTS)
        if not isinstance(self.inverse, bool):
            raise InputError(f"inverse must be True or False, got {got(self.inverse)}")


@dataclass(frozen=True)
class Angles:
    """How far each token turns: rows of a table, or positions times frequencies."""

    cos: Any
    sin: Any
    positions: Any
    frequencies: Any = None
    magnitude: float = 1.0

    @property
    def pairs(self) -> int:
        """How many pairs of channels turn."""
        return (self.cos if self.frequencies is None else self.frequencies).shape[-1]


def is_traced() -> bool:
    """Whether torch.compile or torch.export records this call; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_compiling()


def rotary_start(x: Any, pairs: int, part: Part) -> int:
    """The first channel of a head that turns."""
    return x.shape[-1] - 2 * pairs if part == "last" else 0


def dtype_name(array: Any) -> str:
    """'float32' for NumPy and torch alike."""
    return str(array.dtype).removeprefix("torch.")


def has_values(array: Any) -> bool:
    """Whether there is anything to read: a meta tensor has a shape only, as has one that is traced."""
    return math.prod(array.shape) != 0 and not getattr(array, "is_meta", False) and not is_traced()


def check_arguments(q: Any, k: Any, angles: Angles, turn: Turn) -> None:
    """Raise `InputError` unless arrays of one library fit together; positions must lie inside the table."""
    if angles.frequencies is None:
        check_table(angles.cos, angles.sin)
    else:
        check_frequencies(angles.frequencies)
        if not is_traced():  # there it may be a symbol
            finite("magnitude", angles.magnitude)
    given = {name: x for name, x in (("q", q), ("k", k)) if x is not None}
    for name, x in given.items():
        _check_heads(name, x, angles.pairs, turn.part)
    leads = [tuple(x.shape[:-2]) for x in given.values()]
    if leads[0] != leads[-1]:
        raise InputError(f"q and k must have the same batch and tokens, got {list(leads[0])} and {list(leads[1])}")
    _check_positions(angles.positions, leads[0], None if angles.cos is None else angles.cos.shape[0])


def check_table(cos: Any, sin: Any) -> None:
    """Raise `InputError` unless these are the two halves of a table, [table, pairs] in float32."""
    if len(cos.shape) != 2 or tuple(cos.shape) != tuple(sin.shape) or cos.shape[1] < 1:
        raise InputError(
            f"cos and sin must both have shape [table, pairs], got {list(cos.shape)} and {list(sin.shape)}"
        )
    for name, table in (("cos", cos), ("sin", sin)):
        if dtype_name(table) != "float32":
            raise InputError(f"{name} must be float32, got {dtype_name(table)}")


def check_frequencies(frequencies: Any) -> None:
    """Raise `InputError` unless these are frequencies, one a pair."""
    if len(frequencies.shape) != 1 or frequencies.shape[0] < 1:
        raise InputError(f"frequencies must have shape [pairs], got {list(frequencies.shape)}")
    if dtype_name(frequencies) != "float64":
        raise InputError(f"frequencies must be float64, got {dtype_name(frequencies)}")


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


def _check_positions(positions: Any, lead: tuple[int, ...], rows: int | None) -> None:
    """`rows` is the length of the table, None where there is none."""
    tokens = lead[-1]
    if positions is None:
        if rows is not None and tokens > rows:
            raise InputError(f"the table has {rows} positions, too few for {tokens} tokens")
        return
    if dtype_name(positions) not in ("int32", "int64"):
        raise InputError(f"positions must be int32 or int64, got {dtype_name(positions)}")
    if tuple(positions.shape) not in ((tokens,), lead):
        wanted = f"[{tokens}]" if len(lead) == 1 else f"[{tokens}] or {list(lead)}"
        raise InputError(f"positions must have shape {wanted}, got {list(positions.shape)}")
    if not has_values(positions):
        return
    lowest, highest = int(positions.min()), int(positions.max())
    if rows is not None and (lowest < 0 or highest >= rows):
        raise InputError(f"positions must lie in the table, 0 to {rows - 1}, got {lowest if lowest < 0 else highest}")
    if max(-lowest, highest) > MAXIMUM_POSITION:
        raise InputError(f"positions must lie within 2^53 of 0, got {lowest if -lowest > highest else highest}")
