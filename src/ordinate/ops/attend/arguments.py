"""What may be given to `attend`: checked once, before anything is computed, the same for every backend."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ordinate.errors import InputError, boolean, got, non_negative_integer, positive
from ordinate.ops.attend.shapes import check_shapes
from ordinate.ops.attend.values import check_values
from ordinate.ops.backends import Arrays
from ordinate.ops.rotate.arguments import Pairing, Part, Turn
from ordinate.schemes.base import Bias


@dataclass(frozen=True)
class Call:
    """One call of `attend`, in one form whatever form it came in; every array is a view of what was given.

    A dense call has a batch of sequences. A packed one (`packed`) has them behind one another in row 0, and
    `cu_seqlens_q` and `cu_seqlens_k`. A paged one (`paged`) has its keys and values in pages.

    Args:
        q: [batch or 1, query, heads, dim]
        k: [batch or 1, key, kv_heads, dim], or [pages, page_size, kv_heads, dim]
        v: as k, [..., v_dim]
        causal: whether a query sees no key at a later position
        softmax_scale: what multiplies q k
        softcap: the bound of logits, or None
        left, right: how far a query sees, [token]; None for all
        keep_first: keys at positions below it are visible beyond the window
        sink_logits: [heads], or None
        query_positions: [batch or 1, query], or None for the last places of the keys
        key_positions: [batch or 1, key], or None for 0, 1, 2, ...; negative: no key there
        cu_seqlens_q, cu_seqlens_k: [sequences + 1], or None
        key_lengths: [batch], or None
        mask, bias: [batch or 1, heads or 1, query or 1, key or 1], or None
        slopes: [batch or 1, heads], or None; packed: [sequences or 1, heads]
        by_distance: [heads, 2 * reach + 1], or None
        reach: of `by_distance`, [token]; 0 without one
        cos, sin: [table, pairs], or None
        turn: how they rotate
        query_scale: [batch or 1, query], or None
        scheme: a bias that is evaluated by blocks, or None
        learned: its learned parameters by name
        block_table: [batch, blocks], or None
        return_lse: whether the logarithms of the denominators are asked for
        library: whose arrays these are
    """

    q: Any
    k: Any
    v: Any
    causal: bool
    softmax_scale: float
    softcap: float | None
    left: int | None
    right: int | None
    keep_first: int
    sink_logits: Any
    query_positions: Any
    key_positions: Any
    cu_seqlens_q: Any
    cu_seqlens_k: Any
    key_lengths: Any
    mask: Any
    bias: Any
    slopes: Any
    by_distance: Any
    reach: int
    cos: Any
    sin: Any
    turn: Turn
    query_scale: Any
    scheme: Bias | None
    learned: Mapping[str, Any]
    block_table: Any
    return_lse: bool
    library: Arrays

    @property
    def packed(self) -> bool:
        """Whether sequences lie behind one another."""
        return self.cu_seqlens_q is not None

    @property
    def paged(self) -> bool:
        """Whether keys and values lie in pages."""
        return self.block_table is not None

    @property
    def heads(self) -> int:
        """Query heads."""
        return self.q.shape[2]

    @property
    def kv_heads(self) -> int:
        """Key and value heads."""
        return self.k.shape[2]

    @property
    def queries(self) -> int:
        """Queries a sequence; packed: of all sequences."""
        return self.q.shape[1]

    @property
    def keys(self) -> int:
        """Keys a sequence, those that may not be there included; packed: of all sequences."""
        return self.block_table.shape[1] * self.k.shape[1] if self.paged else self.k.shape[1]


def checked(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool,
    softmax_scale: float | None,
    softcap: float | None,
    window: tuple[int | None, int | None] | None,
    keep_first: int,
    sink_logits: Any,
    query_positions: Any,
    key_positions: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    key_lengths: Any,
    mask: Any,
    bias: Any,
    slopes: Any,
    by_distance: Any,
    reach: int | None,
    cos: Any,
    sin: Any,
    pairing: Pairing,
    part: Part,
    query_scale: Any,
    scheme: Bias | None,
    learned: Mapping[str, Any] | None,
    block_table: Any,
    return_lse: bool,
) -> Call:
    """The call, or an `InputError`; the arguments are those of `attend`."""
    arrays = {
        "q": q,
        "k": k,
        "v": v,
        "sink_logits": sink_logits,
        "query_positions": query_positions,
        "key_positions": key_positions,
        "cu_seqlens_q": cu_seqlens_q,
        "cu_seqlens_k": cu_seqlens_k,
        "key_lengths": key_lengths,
        "mask": mask,
        "bias": bias,
        "slopes": slopes,
        "by_distance": by_distance,
        "cos": cos,
        "sin": sin,
        "query_scale": query_scale,
        "block_table": block_table,
    }
    arrays = {name: array for name, array in arrays.items() if array is not None or name in ("q", "k", "v")}
    learned = _check_scheme(scheme, learned)
    library = library_of(arrays | {f"learned {name!r}": value for name, value in learned.items()})
    _check_company(arrays, window, keep_first, reach)
    turn = HALF if pairing == "half" and part == "first" else Turn(pairing, part, False)
    shaped = check_shapes(arrays, turn, reach)
    if scheme is not None and scheme.heads != shaped["q"].shape[2]:
        raise InputError(f"scheme must have the {shaped['q'].shape[2]} heads of q, got {scheme.heads}")
    left, right = _check_window(window)
    call = Call(
        causal=boolean("causal", causal),
        softmax_scale=q.shape[-1] ** -0.5 if softmax_scale is None else _positive("softmax_scale", softmax_scale),
        softcap=None if softcap is None else _positive("softcap", softcap),
        left=left,
        right=right,
        keep_first=_bounded("keep_first", keep_first) if window is not None else 0,
        reach=reach or 0,
        turn=turn,
        scheme=scheme,
        learned=learned,
        return_lse=boolean("return_lse", return_lse),
        library=library,
        **(_ABSENT | shaped),
    )
    check_values(call)
    return call


SMALLEST, LARGEST = 2.0**-126, 2.0**127
"""What scales and bounds may be: the kernels have them in float32."""

HALF = Turn("half", "first", False)
"""How q and k turn where nothing else is asked for."""

_ABSENT = {name: None for name, kind in Call.__annotations__.items() if kind is Any}


def library_of(arrays: Mapping[str, Any], function: str = "attend") -> Arrays:
    """Whose arrays these are: all NumPy's, or all torch's and on one device."""
    first = next(iter(arrays.values()))
    if isinstance(first, np.ndarray) and all(isinstance(array, np.ndarray) for array in arrays.values()):
        return "numpy"
    # Whoever has a tensor has imported torch.
    torch = sys.modules.get("torch")
    if torch is not None and all(isinstance(array, torch.Tensor) for array in arrays.values()):
        device = first.device
        if any(array.device != device for array in arrays.values()):
            places = ", ".join(f"{name} on {array.device}" for name, array in arrays.items())
            raise InputError(f"all must be on one device, got {places}")
        return "torch"
    kinds = ", ".join(f"{name} {type(array).__name__}" for name, array in arrays.items())
    raise InputError(f"{function} needs NumPy arrays only or torch tensors only, got {kinds}")


def _check_company(arrays: Mapping[str, Any], window: Any, keep_first: int, reach: int | None) -> None:
    """Refuse arguments that need others, and those that exclude each other."""
    for one, other in (
        ("cos", "sin"),
        ("sin", "cos"),
        ("cu_seqlens_q", "cu_seqlens_k"),
        ("cu_seqlens_k", "cu_seqlens_q"),
        ("block_table", "key_lengths"),
        ("key_positions", "query_positions"),
    ):
        if one in arrays and other not in arrays:
            raise InputError(f"{one} needs {other}, got None")
    if "cu_seqlens_q" in arrays:
        for name in ("key_lengths", "block_table", "mask", "bias"):
            if name in arrays:
                raise InputError(f"a packed call takes no {name}, got one beside cu_seqlens_q")
    if window is None and keep_first != 0:
        raise InputError(f"keep_first needs a window to keep keys beyond, got keep_first {got(keep_first)}, no window")
    if ("by_distance" in arrays) != (reach is not None):
        raise InputError(
            f"by_distance and reach must be given together, got reach {got(reach)} "
            f"{'with' if 'by_distance' in arrays else 'without'} by_distance"
        )
    if reach is not None:
        non_negative_integer("reach", reach)


def _positive(name: str, value: Any) -> float:
    # A float of a graph can be compared, and no more be asked.
    if type(value) is float and SMALLEST <= value <= LARGEST:
        return value
    number = positive(name, value)
    if not SMALLEST <= number <= LARGEST:
        raise InputError(f"{name} must be from {SMALLEST:g} to {LARGEST:g}, what float32 holds, got {number:g}")
    return number


def _check_window(window: Any) -> tuple[int | None, int | None]:
    if window is None:
        return None, None
    if not isinstance(window, tuple | list) or len(window) != 2:
        raise InputError(f"window must be (left, right), got {got(window)}")
    left, right = (
        None if reach is None else _bounded(f"window's {side} (None for no bound)", reach)
        for side, reach in zip(("left", "right"), window, strict=True)
    )
    return left, right


def _bounded(name: str, value: Any) -> int:
    # No position reaches so far, and a larger number is too large for any array.
    return min(non_negative_integer(name, value), 2**62)


def _check_scheme(scheme: Any, learned: Any) -> Mapping[str, Any]:
    if scheme is None:
        if learned is not None:
            raise InputError("learned needs the scheme that it belongs to, got None")
        return {}
    if not isinstance(scheme, Bias):
        raise InputError(f"scheme must be a bias of ordinate.schemes, got {got(scheme)}")
    if learned is not None and not isinstance(learned, Mapping):
        raise InputError(f"learned must be a mapping of names to arrays, got {got(learned)}")
    return dict(scheme.learned_values(learned))
