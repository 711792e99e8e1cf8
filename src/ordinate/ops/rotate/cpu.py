"""`rotate` by compiled kernels: float32 arithmetic, one rounding to the dtype, the same bits as `eager`."""

from typing import Any

import numpy as np

from ordinate.ops.backends import compiled
from ordinate.ops.rotate.arguments import Angles, Turn


def obstacle(x: Any, angles: Angles) -> str | None:
    """Why these arrays cannot be handed over as memory, or None where they can."""
    arrays = [a for a in (x, angles.cos, angles.sin, angles.positions, angles.frequencies) if a is not None]
    if isinstance(x, np.ndarray):
        if any(type(a) not in (np.ndarray, np.memmap) for a in arrays):
            return "cpu takes plain NumPy arrays, no subclass"
        if any(not a.flags.aligned or any(s % a.itemsize for s in a.strides) for a in arrays):
            return "cpu takes aligned NumPy arrays whose strides are whole elements"
        return None
    from ordinate.ops.rotate import gradient

    return gradient.obstacle(arrays)


def rotate_one(x: Any, angles: Angles, turn: Turn) -> Any:
    """Rotate one array or tensor into new memory; the arguments are checked already."""
    if not isinstance(x, np.ndarray):
        from ordinate.ops.rotate import gradient

        return gradient.rotate_one(x, angles, turn)
    out = np.empty(x.shape, x.dtype)
    into(x, out, angles, turn)
    return out


def rotate_one_(x: Any, angles: Angles, turn: Turn) -> None:
    """`rotate_one`, written into `x`."""
    if isinstance(x, np.ndarray):
        into(x, x, angles, turn)
        return
    from ordinate.ops.rotate import gradient

    gradient.rotate_one_(x, angles, turn)


def into(x: Any, out: Any, angles: Angles, turn: Turn) -> None:
    """Rotate from memory to memory, which may be the same."""
    assert compiled is not None  # noqa: S101 - `choose` has seen to it
    compiled.rotate_into(
        x,
        None,
        out,
        None,
        angles.cos,
        angles.sin,
        angles.positions,
        angles.frequencies,
        angles.magnitude,
        turn.pairing,
        turn.part,
        turn.inverse,
    )
