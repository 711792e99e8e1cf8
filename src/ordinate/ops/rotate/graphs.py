"""`rotate` while torch records a graph.

torch.compile cannot look into compiled code, so that there `rotate` is an operator of the library "ordinate" with
shapes of its own; torch.export gets PyTorch's standard operators, which every runtime has.
"""

from typing import Any

import torch

from ordinate.errors import Unavailable
from ordinate.ops.backends import KERNEL_DTYPES, NOT_COMPILED, compiled
from ordinate.ops.rotate import eager, operators  # noqa: F401 - it defines what the graph calls
from ordinate.ops.rotate.arguments import Angles, Norms, Turn, dtype_name


def rotate_traced(q: Any, k: Any, angles: Angles, turn: Turn, norms: Norms, backend: str) -> tuple[Any, Any]:
    """`rotate` while torch records a graph; shapes and dtypes are checked already, positions are when it runs."""
    if angles.frequencies is not None:
        angles = eager.tabulated(angles, (k if q is None else q).shape[-3])
    if not _is_operator(q, k, angles, backend):
        _assert_in_table(angles)
        return eager.rotate_both(q, k, angles, turn, norms)
    if norms.q is not None or norms.k is not None:
        return _rotate_normalised(q, k, angles, turn, norms, backend)
    options = _options(angles, turn)
    given = [x for x in (q, k) if x is not None]
    if torch.is_grad_enabled() and any(x.requires_grad for x in given):
        if len(given) == 2:
            return torch.ops.ordinate.rotate_pair(q, k, *options)
        made = [torch.ops.ordinate.rotate(given[0], *options)]
    else:
        # The compiler places new memory better than an operator can.
        made = [torch.empty_like(x, memory_format=torch.contiguous_format) for x in given]
        if len(given) == 2:
            torch.ops.ordinate.rotate_pair_into(q, k, *made, *options)
            return made[0], made[1]
        torch.ops.ordinate.rotate_into(given[0], made[0], *options)
    return (None, made[0]) if q is None else (made[0], None)


def rotate_traced_(q: Any, k: Any, angles: Angles, turn: Turn, norms: Norms, backend: str) -> None:
    """`rotate_` while torch records a graph."""
    if angles.frequencies is not None:
        angles = eager.tabulated(angles, (k if q is None else q).shape[-3])
    given = [x for x in (q, k) if x is not None]
    normalised = norms.q is not None or norms.k is not None
    if normalised or (torch.is_grad_enabled() and any(x.requires_grad for x in given)):
        before = eager.kept(q, norms.q), eager.kept(k, norms.k)
        for x, made in zip((q, k), rotate_traced(*before, angles, turn, norms, backend), strict=True):
            if x is not None:
                x.copy_(made)
        return
    if not _is_operator(q, k, angles, backend):
        _assert_in_table(angles)
        eager.rotate_both_(q, k, angles, turn, norms)
        return
    options = _options(angles, turn)
    if len(given) == 1:
        torch.ops.ordinate.rotate_(given[0], *options)
    else:
        torch.ops.ordinate.rotate_pair_(q, k, *options)


def rotate_into_cache_traced_(
    q: Any,
    k: Any,
    v: Any,
    k_cache: Any,
    v_cache: Any,
    slots: Any,
    angles: Angles,
    turn: Turn,
    norms: Norms,
    cu_seqlens: Any,
    backend: str,
) -> None:
    """`rotate_into_cache_` while torch records a graph: one operator, which checks positions and slots when it runs."""
    if torch.compiler.is_exporting():
        raise Unavailable("an exported graph has standard operators only: none of them writes chosen slots of a cache")
    a = angles
    torch.ops.ordinate.rotate_into_cache_(
        q,
        k,
        v,
        k_cache,
        v_cache,
        slots,
        a.cos,
        a.sin,
        a.positions,
        turn.pairing,
        turn.part,
        cu_seqlens,
        a.frequencies,
        a.magnitude,
        a.axis_of_pair,
        norms.q,
        norms.k,
        norms.epsilon,
        backend,
    )


def _rotate_normalised(q: Any, k: Any, angles: Angles, turn: Turn, norms: Norms, backend: str) -> tuple[Any, Any]:
    """The norm in PyTorch's operators, which a compiler fuses; the rotation reads what it left in float32."""
    wide_q, wide_k = (
        x if weight is None else eager.normalised(x, weight, norms.epsilon)
        for x, weight in ((q, norms.q), (k, norms.k))
    )
    turned = rotate_traced(wide_q, wide_k, angles, turn, Norms(), backend)
    q, k = (None if x is None else made.to(x.dtype) for x, made in zip((q, k), turned, strict=True))
    return q, k


def _options(angles: Angles, turn: Turn) -> tuple[Any, ...]:
    """What every operator takes after its tensors."""
    return (angles.cos, angles.sin, angles.positions, turn.pairing, turn.part, turn.inverse, angles.axis_of_pair)


def _is_operator(q: Any, k: Any, angles: Angles, backend: str) -> bool:
    """Whether the graph gets the operator of the library: not where it leaves this process, or has no kernel."""
    given = [x for x in (q, k) if x is not None]
    why = None
    if compiled is None:
        why = NOT_COMPILED
    elif torch.compiler.is_exporting():
        why = "an exported graph has standard operators only"
    elif any(x.device.type != "cpu" or dtype_name(x) not in KERNEL_DTYPES for x in given):
        why = f"cpu takes {', '.join(KERNEL_DTYPES)} on the cpu"
    elif angles.cos.requires_grad or angles.sin.requires_grad:
        why = "cpu gives no gradient to a table"
    if why is not None and backend == "cpu":
        raise Unavailable(f"backend 'cpu' cannot serve this graph: {why}")
    return why is None and backend in ("auto", "cpu")


def _assert_in_table(angles: Angles) -> None:
    """Have the graph itself refuse positions outside the table: negative ones would count from its end."""
    positions, axis = angles.positions, angles.axis_of_pair
    if positions is None:
        return
    inside = (positions >= 0) & (positions < angles.cos.shape[0])
    torch.ops.aten._assert_async.msg(inside.all(), f"positions must lie in the table, 0 to {angles.cos.shape[0] - 1}")
    if axis is not None:
        named = (axis >= 0) & (axis < positions.shape[0])
        torch.ops.aten._assert_async.msg(named.all(), f"axis_of_pair must lie in 0 to {positions.shape[0] - 1}")
