"""q and k rotated, k and v on their way into a cache of keys and values."""

from itertools import pairwise
from typing import Any

from ordinate.errors import InputError
from ordinate.ops.backends import compiled
from ordinate.ops.rotate.arguments import Angles, Norms, Pairing, Part, Turn, dtype_name, has_values, is_traced
from ordinate.ops.rotate.dispatch import checked, may_be_short, serving
from ordinate.ops.rotate.memory import check_apart, check_writable


def rotate_into_cache_(
    q: Any,
    k: Any,
    v: Any,
    k_cache: Any,
    v_cache: Any,
    slots: Any,
    cos: Any = None,
    sin: Any = None,
    positions: Any = None,
    pairing: Pairing = "half",
    *,
    part: Part = "first",
    cu_seqlens: Any = None,
    frequencies: Any = None,
    magnitude: float = 1.0,
    axis_of_pair: Any = None,
    q_norm: Any = None,
    k_norm: Any = None,
    norm_eps: float = 1e-6,
    backend: str = "auto",
) -> Any:
    """Rotate q in place, and write k rotated and v as it is straight into a cache.

    k_cache[slot // page_size, slot % page_size] = k rotated
    v_cache[slot // page_size, slot % page_size] = v

    k and v are left as they are, and no copy of them is made elsewhere. Nothing is written unless all fits.

    Args:
        q: as for `rotate_`, or None
        k: [batch, tokens, heads, dim] or [tokens, heads, dim], any strides
        v: as k, with a dim of its own; None with `v_cache`
        k_cache, v_cache: [pages, page_size, heads, dim], of the dtypes of k and v, any strides; a dense cache
            [batch, length, heads, dim] is one whose pages are its rows
        slots: [batch, tokens] or [tokens], as k is, int32 or int64: page * page_size + offset for each token (vLLM's
            slot mapping), each at most once; a token of a negative slot is not written
        cos, sin, positions, pairing, part, cu_seqlens, frequencies, magnitude, axis_of_pair, q_norm, k_norm,
            norm_eps, backend: as for `rotate`

    Returns:
        q itself

    Raises:
        InputError: as for `rotate_`, a slot outside the cache or given twice, or a tensor that requires a gradient:
            a cache keeps none
        Unavailable: the backend asked for is not here

    Source: Su et al. 2021, arXiv:2104.09864, equation 34; the slots: Kwon et al. 2023, arXiv:2309.06180, section 4.
    Differs from the paper: nothing.

    >>> import numpy as np
    >>> k, cache = np.array([[[1.0, 0.0]]]), np.zeros((2, 2, 1, 2))
    >>> cos, sin = np.array([[0.0]], np.float32), np.array([[1.0]], np.float32)
    >>> rotate_into_cache_(None, k, None, cache, None, np.array([3]), cos, sin)
    >>> cache[1, 1]
    array([[0., 1.]])
    """
    if compiled is not None and frequencies is None and cu_seqlens is None and magnitude == 1.0 and may_be_short():
        given = (q, k, v, k_cache, v_cache, slots, cos, sin, positions, pairing, part, backend)
        if compiled.rotate_into_cache(*given, axis_of_pair, q_norm, k_norm, norm_eps):
            return q
    turn, norms = Turn(pairing, part, False), Norms(q_norm, k_norm, norm_eps)
    angles = Angles(cos, sin, positions, frequencies, magnitude, axis_of_pair)
    if k is None:
        raise InputError("rotate_into_cache_ needs k, got None")
    others = {"v": v, "k_cache": k_cache, "v_cache": v_cache, "slots": slots}
    turned = checked(q, k, angles, turn, norms, cu_seqlens, others)
    _check_cache(k, v, k_cache, v_cache, slots)
    _check_unrecorded(q, k, v, k_cache, v_cache, q_norm, k_norm)
    if is_traced():
        from ordinate.ops.rotate.graphs import rotate_into_cache_traced_

        rotate_into_cache_traced_(q, k, v, k_cache, v_cache, slots, angles, turn, norms, cu_seqlens, backend)
        return q
    implementation = serving((q, k, v, k_cache, v_cache), turned, norms, backend, slots)
    check_writable(q, None)
    check_apart({"q": q, "k_cache": k_cache, "v_cache": v_cache}, {"k": k, "v": v})
    implementation.rotate_into_cache_(q, k, v, k_cache, v_cache, slots, turned, turn, norms)
    return q


def _check_cache(k: Any, v: Any, k_cache: Any, v_cache: Any, slots: Any) -> None:
    """Raise `InputError` unless tokens fit into the caches and every slot lies in them, once."""
    if k_cache is None or slots is None:
        raise InputError("rotate_into_cache_ needs k_cache and slots, got None")
    if (v is None) != (v_cache is None):
        raise InputError("rotate_into_cache_ needs both v and v_cache or neither, got one")
    lead = tuple(k.shape[:-2])
    for name, x, cache in (("k", k, k_cache), ("v", v, v_cache)):
        if x is None:
            continue
        if tuple(x.shape[:-2]) != lead or len(x.shape) != len(k.shape):
            raise InputError(f"v must have the batch and tokens of k, {list(lead)}, got {list(x.shape)}")
        if len(cache.shape) != 4 or tuple(cache.shape[2:]) != tuple(x.shape[-2:]):
            heads, dim = x.shape[-2:]
            raise InputError(
                f"{name}_cache must have shape [pages, page_size, {heads}, {dim}], got {list(cache.shape)}"
            )
        if cache.dtype != x.dtype:
            raise InputError(f"{name}_cache must be {dtype_name(x)} as {name} is, got {dtype_name(cache)}")
    if v_cache is not None and tuple(v_cache.shape[:2]) != tuple(k_cache.shape[:2]):
        raise InputError(
            f"k_cache and v_cache must have the same pages, got {list(k_cache.shape)} and {list(v_cache.shape)}"
        )
    if dtype_name(slots) not in ("int32", "int64"):
        raise InputError(f"slots must be int32 or int64, got {dtype_name(slots)}")
    if tuple(slots.shape) != lead:
        raise InputError(f"slots must have shape {list(lead)}, got {list(slots.shape)}")
    if not has_values(slots):
        return
    size = k_cache.shape[0] * k_cache.shape[1]
    highest = int(slots.max())
    if highest >= size:
        raise InputError(f"slots must lie in the cache, below {size}, or be negative, got {highest}")
    flat = slots.reshape(-1)
    if bool((flat[1:] <= flat[:-1]).any()):  # slots that rise are apart
        written = sorted(slot for slot in flat.tolist() if slot >= 0)
        twice = next((a for a, b in pairwise(written) if a == b), None)
        if twice is not None:
            raise InputError(f"slots must each be written once, got {twice} twice")


def _check_unrecorded(*arrays: Any) -> None:
    """Raise `InputError` where a gradient would be lost."""
    if any(getattr(x, "requires_grad", False) for x in arrays):
        import torch

        if torch.is_grad_enabled():
            raise InputError("a cache keeps no gradient: call rotate_into_cache_ under torch.no_grad()")
