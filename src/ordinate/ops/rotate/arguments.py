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
    """How far each token turns: rows of a table, or positions times frequencies.

    With `axis_of_pair` a token has a position on each of several axes, and each pair turns by that of its own.
    """

    cos: Any
    sin: Any
    positions: Any
    frequencies: Any = None
    magnitude: float = 1.0
    axis_of_pair: Any = None

    @property
    def pairs(self) -> int:
        """How many pairs of channels turn."""
        return (self.cos if self.frequencies is None else self.frequencies).shape[-1]


@dataclass(frozen=True)
class Norms:
    """The weights by which heads of q and of k are normalised before they turn, [dim]; None where they are not."""

    q: Any = None
    k: Any = None
    epsilon: float = 1e-6


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


def check_arguments(q: Any, k: Any, angles: Angles, turn: Turn, norms: Norms) -> None:
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
    check_norms(q, k, norms)
    _check_positions(angles, leads[0], None if angles.cos is None else angles.cos.shape[0])
    _check_axes(angles)


def check_norms(q: Any, k: Any, norms: Norms) -> None:
    """Raise `InputError` unless each norm has what it normalises, and a weight for each of its channels."""
    for name, x, weight in (("q", q, norms.q), ("k", k, norms.k)):
        if weight is None:
            continue
        if x is None:
            raise InputError(f"{name}_norm needs {name}, got None")
        if tuple(weight.shape) != (x.shape[-1],):
            raise InputError(f"{name}_norm must have shape [{x.shape[-1]}], got {list(weight.shape)}")
        if "float" not in dtype_name(weight):
            raise InputError(f"{name}_norm must be of floating point, got {dtype_name(weight)}")
    if norms.q is None and norms.k is None and norms.epsilon != Norms.epsilon:
        raise InputError(f"norm_eps belongs to q_norm and k_norm, got {norms.epsilon} without them")
    if not is_traced() and finite("norm_eps", norms.epsilon) < 0:
        raise InputError(f"norm_eps must not be negative, got {norms.epsilon}")


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


def _check_axes(angles: Angles) -> None:
    """Every pair has one of the axes of positions."""
    axis = angles.axis_of_pair
    if axis is None:
        return
    if dtype_name(axis) not in ("int32", "int64"):
        raise InputError(f"axis_of_pair must be int32 or int64, got {dtype_name(axis)}")
    if tuple(axis.shape) != (angles.pairs,):
        raise InputError(f"axis_of_pair must have shape [{angles.pairs}], got {list(axis.shape)}")
    axes = angles.positions.shape[0]
    if has_values(axis) and (int(axis.min()) < 0 or int(axis.max()) >= axes):
        raise InputError(f"axis_of_pair must lie in 0 to {axes - 1}, the axes of positions, got {axis.tolist()}"[:200])


def _check_positions(angles: Angles, lead: tuple[int, ...], rows: int | None) -> None:
    """`rows` is the length of the table, None where there is none."""
    positions, tokens = angles.positions, lead[-1]
    if positions is None:
        if angles.axis_of_pair is not None:
            raise InputError("axis_of_pair needs positions, [axes, ...], got None")
        if rows is not None and tokens > rows:
            raise InputError(f"the table has {rows} positions, too few for {tokens} tokens")
        return
    if dtype_name(positions) not in ("int32", "int64"):
        raise InputError(f"positions must be int32 or int64, got {dtype_name(positions)}")
    shape, several = tuple(positions.shape), angles.axis_of_pair is not None
    if (shape[1:] if several else shape) not in ((tokens,), lead):
        axes = "axes, " if several else ""
        wanted = " or ".join(f"[{axes}{', '.join(map(str, ends))}]" for ends in dict.fromkeys(((tokens,), lead)))
        raise InputError(f"positions must have shape {wanted}, got {list(shape)}")
    if not has_values(positions):
        return
    lowest, highest = int(positions.min()), int(positions.max())
    if rows is not None and (lowest < 0 or highest >= rows):
        raise InputError(f"positions must lie in the table, 0 to {rows - 1}, got {lowest if lowest < 0 else highest}")
    if max(-lowest, highest) > MAXIMUM_POSITION:
        raise InputError(f"positions must lie within 2^53 of 0, got {lowest if -lowest > highest else highest}")
