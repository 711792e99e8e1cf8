"""`rotate`: q and k turned by their positions."""

import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from ordinate.errors import InputError, Unavailable
from ordinate.ops.backends import Arrays, choose, compiled
from ordinate.ops.rotate.arguments import Angles, Pairing, Part, Turn, check_arguments, dtype_name, is_traced
from ordinate.ops.rotate.memory import check_writable
from ordinate.ops.rotate.packed import positions_in_sequences

__all__ = ["rotate", "rotate_"]


def rotate(
    q: Any,
    k: Any,
    cos: Any = None,
    sin: Any = None,
    positions: Any = None,
    pairing: Pairing = "half",
    *,
    part: Part = "first",
    inverse: bool = False,
    cu_seqlens: Any = None,
    frequencies: Any = None,
    magnitude: float = 1.0,
    backend: str = "auto",
) -> tuple[Any, Any]:
    """Rotate each channel pair of q and k by the angle of its token's position.

    out[first]  = x[first] * cos[positions] - x[second] * sin[positions]
    out[second] = x[first] * sin[positions] + x[second] * cos[positions]

    float32, bfloat16 and float16 are computed in float32, each product and sum rounded, and rounded once more to
    their dtype: compiled kernels and PyTorch give the same bits. float64, and all of NumPy where there are no kernels,
    is computed in float64. Gradients flow to q, k, cos, sin and frequencies.

    Args:
        q, k: [batch, tokens, heads, dim] or [tokens, heads, dim], any strides, heads and dim of their own;
            either may be None. float16, bfloat16 (torch), float32 or float64
        cos, sin: [table, pairs], float32, magnitude included, as `LayerGroup.table` makes them; None with frequencies
        positions: rows of the table, [tokens] or [batch, tokens], int32 or int64; None for 0 to tokens - 1
        pairing: "half" pairs channel i with i + pairs, "interleaved" 2i with 2i + 1, "interleaved-in-half-out"
            reads the latter and writes the former (DeepSeek in Hugging Face)
        part: which channels turn, the "first" or "last" 2 * pairs; "proportional" asserts that the table
            has a pair for every two channels, those of frequency 0 included
        inverse: turn by the negative angle, and undo the move of channels of "interleaved-in-half-out". A magnitude
            multiplies again: this is the transpose, and the inverse where the magnitude is 1
        cu_seqlens: [sequences + 1], int32 or int64: where each of the packed sequences of a q or k
            [tokens, heads, dim] begins, and their end; each then counts its own positions from 0
        frequencies: [pairs], float64, [rad/token], in place of a table: angles are computed in float64 as they are
            needed, cos and sin rounded to float32; positions are then any within 2^53 of 0
        magnitude: multiplies cos and sin of frequencies
        backend: "auto", or a name in `ordinate.ops.backends`

    Returns:
        q and k rotated, in new memory, None for None. Channels that do not turn keep their bits.

    Raises:
        InputError: a shape, dtype or device that does not fit, or a position outside the table
        Unavailable: the backend asked for is not here

    Source: Su et al. 2021, arXiv:2104.09864, equation 34.
    Differs from the paper: the paper pairs neighbours; "half" is the same model with channels renamed.

    >>> q = np.array([[[1.0, 0.0]]])
    >>> cos, sin = np.array([[0.0]], np.float32), np.array([[1.0]], np.float32)
    >>> rotate(q, None, cos, sin)[0]
    array([[[0., 1.]]])
    """
    if compiled is not None and _may_be_short(cu_seqlens, frequencies, magnitude):
        made = compiled.rotate_to_new(q, k, cos, sin, positions, pairing, part, inverse, backend)
        if made is not None:
            return made
    turn = Turn(pairing, part, inverse)
    angles = _checked(q, k, cos, sin, positions, turn, cu_seqlens, frequencies, magnitude)
    if is_traced():
        from ordinate.ops.rotate.operators import rotate_traced

        return rotate_traced(q, k, angles, turn, backend)
    q, k = (
        None if x is None else implementation.rotate_one(x, angles, turn)
        for x, implementation in _served(q, k, angles, backend)
    )
    return q, k


def rotate_(
    q: Any,
    k: Any,
    cos: Any = None,
    sin: Any = None,
    positions: Any = None,
    pairing: Pairing = "half",
    *,
    part: Part = "first",
    inverse: bool = False,
    cu_seqlens: Any = None,
    frequencies: Any = None,
    magnitude: float = 1.0,
    backend: str = "auto",
) -> tuple[Any, Any]:
    """`rotate`, written into q and k: views of other memory are written through, nothing else is touched.

    Args:
        q, k: as for `rotate`; their elements must not share memory, with each other or among themselves
        cos, sin, positions, pairing, part, inverse, cu_seqlens, frequencies, magnitude, backend: as for `rotate`

    Returns:
        q and k themselves

    Raises:
        InputError: as for `rotate`, or memory that cannot be written; then nothing has been
        Unavailable: the backend asked for is not here
    """
    if (
        compiled is not None
        and _may_be_short(cu_seqlens, frequencies, magnitude)
        and compiled.rotate_in_place(q, k, cos, sin, positions, pairing, part, inverse, backend)
    ):
        return q, k
    turn = Turn(pairing, part, inverse)
    angles = _checked(q, k, cos, sin, positions, turn, cu_seqlens, frequencies, magnitude)
    if is_traced():
        from ordinate.ops.rotate.operators import rotate_traced_

        rotate_traced_(q, k, angles, turn, backend)
        return q, k
    served = _served(q, k, angles, backend)
    check_writable(q, k)
    for x, implementation in served:
        if x is not None:
            implementation.rotate_one_(x, angles, turn)
    return q, k


def _may_be_short(cu_seqlens: Any, frequencies: Any, magnitude: float) -> bool:
    """Whether the compiled module may be asked first: of tensors and a table, outside of a graph."""
    torch = sys.modules.get("torch")
    return (
        frequencies is None
        and cu_seqlens is None
        and magnitude == 1.0
        and torch is not None
        and not torch.compiler.is_dynamo_compiling()
    )


def _checked(
    q: Any,
    k: Any,
    cos: Any,
    sin: Any,
    positions: Any,
    turn: Turn,
    cu_seqlens: Any,
    frequencies: Any,
    magnitude: float,
) -> Angles:
    """How far each token turns, once every argument is found to fit."""
    if q is None and k is None:
        raise InputError("rotate needs q or k, got neither")
    if frequencies is None and (cos is None or sin is None):
        raise InputError("rotate needs cos and sin, or frequencies, got None")
    if frequencies is not None and (cos is not None or sin is not None):
        raise InputError("rotate needs cos and sin, or frequencies, got both")
    if frequencies is None and magnitude != 1.0:
        raise InputError(f"magnitude belongs to frequencies: that of a table is in it, got {magnitude}")
    given = {
        "q": q,
        "k": k,
        "cos": cos,
        "sin": sin,
        "positions": positions,
        "cu_seqlens": cu_seqlens,
        "frequencies": frequencies,
    }
    given = {name: value for name, value in given.items() if value is not None}
    _library(given)
    devices = {name: str(getattr(value, "device", "cpu")) for name, value in given.items()}
    if len(set(devices.values())) != 1:
        raise InputError(f"all must be on one device, got {', '.join(f'{n} on {d}' for n, d in devices.items())}")
    if cu_seqlens is not None:
        if positions is not None:
            raise InputError("rotate needs positions or cu_seqlens, got both")
        positions = positions_in_sequences(q if q is not None else k, cu_seqlens)
    angles = Angles(cos, sin, positions, frequencies, magnitude)
    check_arguments(q, k, angles, turn)
    return angles


def _served(q: Any, k: Any, angles: Angles, backend: str) -> list[tuple[Any, Any]]:
    """q and k, each with the module that will rotate it."""
    served: list[tuple[Any, Any]] = []
    for x in (q, k):
        name = None if x is None else _backend(x, angles, backend)
        served.append((x, None if name is None else import_module(f"ordinate.ops.rotate.{name}")))
    return served


def _backend(x: Any, angles: Angles, backend: str) -> str:
    """Which backend rotates this array: kernels where they are and where its memory may be handed to them."""
    library: Arrays = "numpy" if isinstance(x, np.ndarray) else "torch"
    device = str(getattr(x, "device", "cpu"))
    name = choose(device, dtype_name(x), arrays=library, backend=backend).name
    if name == "cpu":
        from ordinate.ops.rotate import cpu

        why = cpu.obstacle(x, angles)
        if why is not None and backend == "cpu":
            raise Unavailable(f"backend 'cpu' cannot serve {library} arrays on {device!r}: {why}")
        if why is not None:
            return "reference" if library == "numpy" else "eager"
    return name


def _library(given: Mapping[str, Any]) -> Arrays:
    """Whose arrays these are: all NumPy's or all torch's."""
    if not is_traced() and all(isinstance(value, np.ndarray) for value in given.values()):
        return "numpy"
    if is_traced() or find_spec("torch") is not None:
        from torch import Tensor

        if all(isinstance(value, Tensor) for value in given.values()):
            return "torch"
    kinds = ", ".join(f"{name} {type(value).__name__}" for name, value in given.items())
    raise InputError(f"rotate needs NumPy arrays only or torch tensors only, got {kinds}")
