"""`rotate`: q and k turned by their positions."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from ordinate.errors import InputError
from ordinate.ops.backends import Arrays, choose
from ordinate.ops.rotate.arguments import Pairing, Part, Turn, check_arguments, check_writable, dtype_name

__all__ = ["rotate", "rotate_"]


def rotate(
    q: Any,
    k: Any,
    cos: Any,
    sin: Any,
    positions: Any = None,
    pairing: Pairing = "half",
    *,
    part: Part = "first",
    inverse: bool = False,
    backend: str = "auto",
) -> tuple[Any, Any]:
    """Rotate each channel pair of q and k by the angle of its token's position.

    out[first]  = x[first] * cos[positions] - x[second] * sin[positions]
    out[second] = x[first] * sin[positions] + x[second] * cos[positions]

    NumPy arrays are computed in float64, torch tensors in float32 (float64 where they are float64); either is
    rounded once to its own dtype. Gradients flow to q, k, cos and sin.

    Args:
        q, k: [batch, tokens, heads, dim] or [tokens, heads, dim], any strides, heads and dim of their own;
            either may be None. float16, bfloat16 (torch), float32 or float64
        cos, sin: [table, pairs], float32, magnitude included, as `LayerGroup.table` makes them
        positions: rows of the table, [tokens] or [batch, tokens], int32 or int64; None for 0 to tokens - 1
        pairing: "half" pairs channel i with i + pairs, "interleaved" 2i with 2i + 1, "interleaved-in-half-out"
            reads the latter and writes the former (DeepSeek in Hugging Face)
        part: which channels turn, the "first" or "last" 2 * pairs; "proportional" asserts that the table
            has a pair for every two channels, those of frequency 0 included
        inverse: turn by the negative angle, and undo the move of channels of "interleaved-in-half-out". A magnitude
            multiplies again: this is the transpose, and the inverse where the magnitude is 1
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
    turn = Turn(pairing, part, inverse)
    q, k = (
        None if x is None else implementation.rotate_one(x, cos, sin, positions, turn)
        for x, implementation in _served(q, k, cos, sin, positions, turn, backend)
    )
    return q, k


def rotate_(
    q: Any,
    k: Any,
    cos: Any,
    sin: Any,
    positions: Any = None,
    pairing: Pairing = "half",
    *,
    part: Part = "first",
    inverse: bool = False,
    backend: str = "auto",
) -> tuple[Any, Any]:
    """`rotate`, written into q and k: views of other memory are written through, nothing else is touched.

    Args:
        q, k: as for `rotate`; their elements must not share memory, with each other or among themselves
        cos, sin, positions, pairing, part, inverse, backend: as for `rotate`

    Returns:
        q and k themselves

    Raises:
        InputError: as for `rotate`, or memory that cannot be written; then nothing has been
        Unavailable: the backend asked for is not here
    """
    turn = Turn(pairing, part, inverse)
    served = _served(q, k, cos, sin, positions, turn, backend)
    check_writable(q, k)
    for x, implementation in served:
        if x is not None:
            implementation.rotate_one_(x, cos, sin, positions, turn)
    return q, k


def _served(q: Any, k: Any, cos: Any, sin: Any, positions: Any, turn: Turn, backend: str) -> list[tuple[Any, Any]]:
    """q and k, each with the module that will rotate it, once every argument is found to fit."""
    if q is None and k is None:
        raise InputError("rotate needs q or k, got neither")
    if cos is None or sin is None:
        raise InputError("rotate needs cos and sin, got None")
    given = {"q": q, "k": k, "cos": cos, "sin": sin, "positions": positions}
    given = {name: value for name, value in given.items() if value is not None}
    library = _library(given)
    devices = {name: str(getattr(value, "device", "cpu")) for name, value in given.items()}
    if len(set(devices.values())) != 1:
        raise InputError(f"all must be on one device, got {', '.join(f'{n} on {d}' for n, d in devices.items())}")
    check_arguments(q, k, cos, sin, positions, turn)
    served: list[tuple[Any, Any]] = []
    for x in (q, k):
        name = None if x is None else choose(devices["cos"], dtype_name(x), arrays=library, backend=backend).name
        served.append((x, None if name is None else import_module(f"ordinate.ops.rotate.{name}")))
    return served


def _library(given: Mapping[str, Any]) -> Arrays:
    """Whose arrays these are: all NumPy's or all torch's."""
    if all(isinstance(value, np.ndarray) for value in given.values()):
        return "numpy"
    if find_spec("torch") is not None:
        from torch import Tensor

        if all(isinstance(value, Tensor) for value in given.values()):
            return "torch"
    kinds = ", ".join(f"{name} {type(value).__name__}" for name, value in given.items())
    raise InputError(f"rotate needs NumPy arrays only or torch tensors only, got {kinds}")
