"""Shapes and dtypes of what is given to `attend`, and the one form that backends read."""

from collections.abc import Mapping
from typing import Any

from ordinate.errors import InputError
from ordinate.ops.rotate.arguments import Turn, check_table, dtype_name

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int32", "int64")


def check_shapes(arrays: Mapping[str, Any], turn: Turn, reach: int | None) -> dict[str, Any]:
    """All arrays as `Call` describes them, or an `InputError`.

    Args:
        arrays: what was given, by the names of `attend`
        turn: how q and k rotate, where there is a table
        reach: of the table over distances, or None
    """
    shaped = dict(arrays)
    packed = "cu_seqlens_q" in arrays
    _check_heads(arrays, packed)
    if packed:
        for name in ("q", "k", "v"):
            shaped[name] = arrays[name][None]
    if len(arrays) == 3:
        return shaped
    q, k = shaped["q"], shaped["k"]
    rows, queries, heads, _ = q.shape
    keys = k.shape[1]
    if "block_table" in arrays:
        _check_integers("block_table", arrays["block_table"], ((rows, None),), "[batch, blocks]")
        keys = k.shape[1] * arrays["block_table"].shape[1]
    if "key_lengths" in arrays:
        _check_integers("key_lengths", arrays["key_lengths"], ((rows,),), "[batch]")
    if packed:
        for name in ("cu_seqlens_q", "cu_seqlens_k"):
            _check_integers(name, arrays[name], ((None,),), "[sequences + 1]")
        sizes = [arrays[name].shape[0] for name in ("cu_seqlens_q", "cu_seqlens_k")]
        if sizes[0] != sizes[1] or sizes[0] < 1:
            raise InputError(f"cu_seqlens_q and cu_seqlens_k must have one length, sequences + 1, got {sizes}")
    for name, tokens in (("query_positions", queries), ("key_positions", keys)):
        if name in arrays:
            allowed = ((tokens,),) if packed else ((tokens,), (rows, tokens))
            _check_integers(name, arrays[name], allowed, "[tokens]" if packed else "[tokens] or [batch, tokens]")
            shaped[name] = _two_axes(arrays[name])
    if "query_scale" in arrays:
        allowed = ((queries,),) if packed else ((queries,), (rows, queries))
        _check_floats("query_scale", arrays["query_scale"], allowed, q)
        shaped["query_scale"] = _two_axes(arrays["query_scale"])
    if "slopes" in arrays:
        sequences = arrays["cu_seqlens_q"].shape[0] - 1 if packed else rows
        _check_floats("slopes", arrays["slopes"], ((heads,), (sequences, heads)), q)
        shaped["slopes"] = _two_axes(arrays["slopes"])
    if "sink_logits" in arrays:
        _check_floats("sink_logits", arrays["sink_logits"], ((heads,),), q)
    if "by_distance" in arrays:
        _check_floats("by_distance", arrays["by_distance"], ((heads, 2 * (reach or 0) + 1),), q)
    for name in ("mask", "bias"):
        if name in arrays:
            shaped[name] = _check_logits(name, arrays[name], (rows, heads, queries, keys))
    if "cos" in arrays:
        _check_rotation(arrays, q, turn)
    return shaped


def _check_heads(arrays: Mapping[str, Any], packed: bool) -> None:
    """q, k and v: axes, sizes that must agree, one dtype."""
    paged = "block_table" in arrays
    q, k, v = arrays["q"], arrays["k"], arrays["v"]
    of_q, of_k, of_v = tuple(q.shape), tuple(k.shape), tuple(v.shape)
    for name, shape in (("q", of_q), ("k", of_k), ("v", of_v)):
        if len(shape) != (3 if packed else 4):
            wanted = "[tokens, heads, dim]" if packed else "[batch, tokens, heads, dim]"
            wanted = "[pages, page_size, kv_heads, dim]" if paged and name != "q" else wanted
            hint = " (packed sequences need cu_seqlens_q and cu_seqlens_k)" if len(shape) == 3 else ""
            raise InputError(f"{name} must have shape {wanted}{hint}, got {list(shape)}")
        if shape[-1] < 1 or shape[-2] < 1:
            raise InputError(f"{name} must have at least one head of at least one channel, got {list(shape)}")
    if q.dtype != k.dtype or q.dtype != v.dtype:
        raise InputError(f"q, k and v must have one dtype, got {', '.join(dtype_name(x) for x in (q, k, v))}")
    if dtype_name(q) not in FLOATS:
        raise InputError(f"q, k and v must be one of {', '.join(FLOATS)}, got {dtype_name(q)}")
    if of_q[-1] != of_k[-1]:
        raise InputError(f"q and k must have the same dim, got {of_q[-1]} and {of_k[-1]}")
    if of_k[:-1] != of_v[:-1]:
        raise InputError(f"k and v must agree but for dim, got {list(of_k)} and {list(of_v)}")
    if of_q[-2] % of_k[-2]:
        raise InputError(f"q's heads must be a multiple of k's, got {of_q[-2]} and {of_k[-2]}")
    if not packed and not paged and of_q[0] != of_k[0]:
        raise InputError(f"q and k must have the same batch, got {of_q[0]} and {of_k[0]}")
    if paged and of_k[1] < 1:
        raise InputError(f"k must have pages of at least one token, got {list(of_k)}")


def _check_rotation(arrays: Mapping[str, Any], q: Any, turn: Turn) -> None:
    cos = arrays["cos"]
    check_table(cos, arrays["sin"])
    width, dim = 2 * cos.shape[1], q.shape[-1]
    if dim < width or (turn.part == "proportional" and dim != width):
        least = "exactly" if turn.part == "proportional" else "at least"
        raise InputError(f"q and k must have {least} {width} channels for {cos.shape[1]} pairs, got {dim}")


def _check_integers(name: str, array: Any, shapes: tuple[tuple[int | None, ...], ...], wanted: str) -> None:
    if dtype_name(array) not in INTEGERS:
        raise InputError(f"{name} must be int32 or int64, got {dtype_name(array)}")
    if not any(_fits(array.shape, shape) for shape in shapes):
        # Sizes that are free are named by `wanted` alone.
        sizes = "" if any(None in shape for shape in shapes) else f" ({' or '.join(str(list(s)) for s in shapes)})"
        raise InputError(f"{name} must have shape {wanted}{sizes}, got {list(array.shape)}")


def _check_floats(name: str, array: Any, shapes: tuple[tuple[int, ...], ...], q: Any) -> None:
    """float32, or float64 beside a float64 q."""
    kind = dtype_name(array)
    if kind != "float32" and not (kind == "float64" and array.dtype == q.dtype):
        raise InputError(f"{name} must be float32, or float64 where q is, got {kind}")
    if not any(_fits(array.shape, shape) for shape in shapes):
        raise InputError(f"{name} must have shape {' or '.join(str(list(s)) for s in shapes)}, got {list(array.shape)}")


def _check_logits(name: str, array: Any, sizes: tuple[int, ...]) -> Any:
    """A mask or bias with four axes, each full or 1."""
    kinds = ("bool",) if name == "mask" else FLOATS
    if dtype_name(array) not in kinds:
        raise InputError(f"{name} must be {' or '.join(kinds)}, got {dtype_name(array)}")
    axes = len(array.shape)
    if axes > 4 or any(has != 1 and has != full for has, full in zip(array.shape[::-1], sizes[::-1], strict=False)):
        raise InputError(
            f"{name} must broadcast to [batch, heads, query, key] {list(sizes)}, got shape {list(array.shape)}"
        )
    return array[(None,) * (4 - axes)] if axes < 4 else array


def _fits(shape: Any, wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(
        want is None or want == has for has, want in zip(shape, wanted, strict=True)
    )


def _two_axes(array: Any) -> Any:
    return array[None] if len(array.shape) == 1 else array
