"""`attend` by compiled kernels: float32 arithmetic, tiles of logits that never leave the caches."""

from typing import Any

import numpy as np

from ordinate.ops.attend.arguments import Call
from ordinate.ops.backends import compiled
from ordinate.ops.rotate.arguments import dtype_name

LARGEST_POSITION = 2**30
"""Positions beyond it, [token], do not fit the kernels' 32-bit distances."""


def arrays_of(call: Call) -> dict[str, Any]:
    """Every array of the call by name, those that are given."""
    found = {name: getattr(call, name) for name in ARRAYS}
    return {name: array for name, array in found.items() if array is not None}


ARRAYS = tuple(name for name, kind in Call.__annotations__.items() if kind is Any)
"""The names of all arrays that a call may have, in their order."""


def serves(call: Call) -> str | None:
    """Why the kernels leave this call to the backends that take everything, or None where they take it."""
    reason = obstacle(call) or obstacle_in_positions(call)
    if reason is not None:
        return reason
    arrays = arrays_of(call)
    if call.library == "torch":
        from ordinate.ops.attend import gradient

        return gradient.obstacle(call, arrays)
    for name, array in arrays.items():
        if type(array) not in (np.ndarray, np.memmap):
            return f"cpu takes plain NumPy arrays, no subclass, got {name} {type(array).__name__}"
        if not array.flags.aligned or any(step % array.itemsize for step in array.strides):
            return f"cpu takes aligned arrays whose strides are whole elements, got {name} otherwise"
    return None


def obstacle(call: Call) -> str | None:
    """Why the kernels do not take such a call, whatever numbers are in it; None where they do."""
    if call.scheme is not None:
        return "cpu takes no scheme: give its slopes, by_distance or bias"
    for name in ("k", "v"):
        if dtype_name(getattr(call, name)) != dtype_name(call.q):
            return f"cpu takes q, k and v of one dtype, got {name} {dtype_name(getattr(call, name))}"
    if call.bias is not None and dtype_name(call.bias) != "float32":
        return f"cpu takes a float32 bias, got {dtype_name(call.bias)}"
    if 0 in (call.heads, call.q.shape[3], call.v.shape[3]):
        return "cpu takes at least one head of at least one channel"
    return None


def obstacle_in_positions(call: Call) -> str | None:
    """Why the kernels do not take these positions, or None where they do."""
    for name in ("query_positions", "key_positions"):
        positions = getattr(call, name)
        if positions is not None and 0 not in positions.shape:
            lowest, highest = int(positions.min()), int(positions.max())
            if lowest <= -LARGEST_POSITION or highest >= LARGEST_POSITION:
                return f"cpu takes {name} within 2**30 of 0"
    return None


def attend_call(call: Call) -> tuple[Any, Any]:
    """Attention of a call that `serves` takes.

    Returns:
        out: [batch or 1, query, heads, v_dim], of the dtype of q
        lse: [batch or 1, heads, query], float32, or None
    """
    if call.library == "torch":
        from ordinate.ops.attend import gradient

        return gradient.attend_call(call)
    out = np.empty((*call.q.shape[:3], call.v.shape[3]), call.q.dtype)
    lse = np.empty((call.q.shape[0], call.heads, call.queries), np.float32) if call.return_lse else None
    into(arrays_of(call), options_of(call), out, lse)
    return out, lse


def options_of(call: Call) -> dict[str, Any]:
    """What the kernels are told beside arrays."""
    options: dict[str, Any] = {
        "softmax_scale": call.softmax_scale,
        "causal": call.causal,
        "softcap": call.softcap,
        "left": call.left,
        "right": call.right,
        "keep_first": call.keep_first,
    }
    if call.cos is not None:
        options["last"] = call.turn.part == "last"
        options["interleaved_in"] = call.turn.pairing != "half"
        options["interleaved_out"] = call.turn.pairing == "interleaved"
    return {name: value for name, value in options.items() if value is not None}


def into(arrays: dict[str, Any], options: dict[str, Any], out: Any, lse: Any) -> None:
    """Write the attention of these arrays into `out`, and the logarithms of its denominators into `lse`."""
    assert compiled is not None  # noqa: S101 - `choose` has seen to it
    rest = {name: array for name, array in arrays.items() if name not in ("q", "k", "v")}
    compiled.attend(arrays["q"], arrays["k"], arrays["v"], out, lse, **rest, **options)
