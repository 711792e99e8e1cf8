"""`rotate` by compiled kernels: float32 arithmetic, one rounding to the dtype, the same bits as `eager`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ordinate.ops.backends import KERNEL_DTYPES, compiled
from ordinate.ops.rotate.arguments import Angles, Norms, Turn, dtype_name


def obstacle(arrays: Sequence[Any], angles: Angles, norms: Norms) -> str | None:
    """Why `arrays` and what turns them cannot be handed over as memory, or None where they can."""
    tables = [
        a for a in (angles.cos, angles.sin, angles.frequencies, angles.positions, angles.axis_of_pair) if a is not None
    ]
    weights = [weight for weight in (norms.q, norms.k) if weight is not None]
    if any(dtype_name(weight) not in KERNEL_DTYPES for weight in weights):
        return f"cpu takes norms of {', '.join(KERNEL_DTYPES)}"
    every = [*arrays, *tables, *weights]
    if isinstance(every[0], np.ndarray):
        if any(type(a) not in (np.ndarray, np.memmap) for a in every):
            return "cpu takes plain NumPy arrays, no subclass"
        if any(not a.flags.aligned or any(s % a.itemsize for s in a.strides) for a in every):
            return "cpu takes aligned NumPy arrays whose strides are whole elements"
        return None
    from ordinate.ops.rotate import gradient

    return gradient.obstacle(every, tables)


def rotate_both(q: Any, k: Any, angles: Angles, turn: Turn, norms: Norms) -> tuple[Any, Any]:
    """Rotate q and k into new memory in one call, None for None; the arguments are checked already."""
    if not isinstance(k if q is None else q, np.ndarray):
        from ordinate.ops.rotate import gradient

        return gradient.rotate_both(q, k, angles, turn, norms)
    to_q, to_k = (None if x is None else np.empty(x.shape, x.dtype) for x in (q, k))
    into(q, k, to_q, to_k, angles, turn, norms)
    return to_q, to_k


def rotate_both_(q: Any, k: Any, angles: Angles, turn: Turn, norms: Norms) -> None:
    """`rotate_both`, written into q and k."""
    if isinstance(k if q is None else q, np.ndarray):
        into(q, k, q, k, angles, turn, norms)
        return
    from ordinate.ops.rotate import gradient

    gradient.rotate_both_(q, k, angles, turn, norms)


def rotate_into_cache_(
    q: Any, k: Any, v: Any, k_cache: Any, v_cache: Any, slots: Any, angles: Angles, turn: Turn, norms: Norms
) -> None:
    """Rotate q in place, and write each token of k, rotated, and of v to its slot, in one call."""
    into(q, k, q, k_cache, angles, turn, norms, slots=slots, v=v, v_to=v_cache)
    if not isinstance(k, np.ndarray):
        import torch

        torch.autograd.graph.increment_version([x for x in (q, k_cache, v_cache) if x is not None])


def into(
    q: Any,
    k: Any,
    to_q: Any,
    to_k: Any,
    angles: Angles,
    turn: Turn,
    norms: Norms,
    *,
    slots: Any = None,
    v: Any = None,
    v_to: Any = None,
) -> None:
    """Rotate from memory to memory, which may be the same; with slots `to_k` and `v_to` are caches."""
    assert compiled is not None  # noqa: S101 - `choose` has seen to it
    compiled.rotate_into(
        q,
        k,
        to_q,
        to_k,
        angles.cos,
        angles.sin,
        angles.positions,
        angles.frequencies,
        angles.magnitude,
        turn.pairing,
        turn.part,
        turn.inverse,
        angles.axis_of_pair,
        norms.q,
        norms.k,
        norms.epsilon,
        slots,
        v,
        v_to,
    )
