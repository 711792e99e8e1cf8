"""Which arrays a call of `rotate` was given, whether they fit together, and which module serves them."""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np

from ordinate.errors import InputError, Unavailable
from ordinate.ops.backends import Arrays, choose
from ordinate.ops.rotate.arguments import Angles, Norms, Turn, check_arguments, dtype_name, is_traced
from ordinate.ops.rotate.packed import positions_in_sequences


def may_be_short() -> bool:
    """Whether the compiled module may be asked first: torch is there, and no graph is recorded."""
    torch = sys.modules.get("torch")
    return torch is not None and not torch.compiler.is_dynamo_compiling()


def checked(
    q: Any,
    k: Any,
    angles: Angles,
    turn: Turn,
    norms: Norms,
    cu_seqlens: Any = None,
    others: Mapping[str, Any] | None = None,
) -> Angles:
    """How far each token turns, once every argument is found to fit; `others` are further arrays of the call."""
    if q is None and k is None:
        raise InputError("rotate needs q or k, got neither")
    cos, sin, frequencies = angles.cos, angles.sin, angles.frequencies
    if frequencies is None and (cos is None or sin is None):
        raise InputError("rotate needs cos and sin, or frequencies, got None")
    if frequencies is not None and (cos is not None or sin is not None):
        raise InputError("rotate needs cos and sin, or frequencies, got both")
    if frequencies is None and angles.magnitude != 1.0:
        raise InputError(f"magnitude belongs to frequencies: that of a table is in it, got {angles.magnitude}")
    given = {
        "q": q,
        "k": k,
        "cos": cos,
        "sin": sin,
        "positions": angles.positions,
        "cu_seqlens": cu_seqlens,
        "frequencies": frequencies,
        "axis_of_pair": angles.axis_of_pair,
        "q_norm": norms.q,
        "k_norm": norms.k,
    }
    given = {name: value for name, value in (given | dict(others or {})).items() if value is not None}
    library(given)
    devices = {name: str(getattr(value, "device", "cpu")) for name, value in given.items()}
    if len(set(devices.values())) != 1:
        raise InputError(f"all must be on one device, got {', '.join(f'{n} on {d}' for n, d in devices.items())}")
    if cu_seqlens is not None:
        if angles.positions is not None:
            raise InputError("rotate needs positions or cu_seqlens, got both")
        if angles.axis_of_pair is not None:
            raise InputError("axis_of_pair needs positions, [axes, ...], got cu_seqlens")
        counted = positions_in_sequences(q if q is not None else k, cu_seqlens)
        angles = Angles(cos, sin, counted, frequencies, angles.magnitude)
    check_arguments(q, k, angles, turn, norms)
    return angles


def serving(arrays: Sequence[Any], angles: Angles, norms: Norms, backend: str, slots: Any = None) -> ModuleType:
    """The module that serves all of `arrays`: kernels where they are and where memory may be handed to them."""
    arrays = [x for x in arrays if x is not None]
    kind: Arrays = "numpy" if isinstance(arrays[0], np.ndarray) else "torch"
    device = str(getattr(arrays[0], "device", "cpu"))
    dtypes = sorted({dtype_name(x) for x in arrays})
    names = {choose(device, dtype, arrays=kind, backend=backend).name for dtype in dtypes}
    name = names.pop() if len(names) == 1 else "plain"
    if name == "cpu":
        from ordinate.ops.rotate import cpu

        why = cpu.obstacle([x for x in (*arrays, slots) if x is not None], angles, norms)
        if why is not None and backend == "cpu":
            raise Unavailable(f"backend 'cpu' cannot serve {kind} arrays on {device!r}: {why}")
        name = "cpu" if why is None else "plain"
    if name == "plain":
        name = "reference" if kind == "numpy" else "eager"
    return import_module(f"ordinate.ops.rotate.{name}")


def library(given: Mapping[str, Any]) -> Arrays:
    """Whose arrays these are: all NumPy's or all torch's."""
    if not is_traced() and all(isinstance(value, np.ndarray) for value in given.values()):
        return "numpy"
    if is_traced() or "torch" in sys.modules or find_spec("torch") is not None:
        from torch import Tensor

        if all(isinstance(value, Tensor) for value in given.values()):
            return "torch"
    kinds = ", ".join(f"{name} {type(value).__name__}" for name, value in given.items())
    raise InputError(f"rotate needs NumPy arrays only or torch tensors only, got {kinds}")
