"""`merge`: attention to parts of the keys, put together."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ordinate.errors import InputError
from ordinate.ops.attend.arguments import library_of
from ordinate.ops.attend.shapes import FLOATS
from ordinate.ops.backends import Arrays
from ordinate.ops.rotate.arguments import dtype_name


def merge(outs: Sequence[Any], lses: Sequence[Any]) -> tuple[Any, Any]:
    """Put attention to disjoint sets of keys together, as if all keys had been there at once.

    lse = log(sum over parts of exp(lses[part]))
    out = sum over parts of exp(lses[part] - lse) * outs[part]

    Parts are what `attend` returns with `return_lse`, of the same queries: over shards of the keys (context
    parallelism), or over a shared prefix and each sequence's own rest. Each key must be in one part, and
    `sink_logits`, which are a key of their own, must have been given to one part only.

    Args:
        outs: of each part [batch, query, heads, v_dim], or packed [tokens, heads, v_dim]
        lses: of each part [batch, heads, query], or packed [heads, tokens], float32 (float64 for float64)

    Returns:
        out: of the dtype of `outs`, computed as `attend` computes
        lse: of the dtype of `lses`; so that what is merged can be merged again

    Raises:
        InputError: no parts, or parts that do not fit together

    Source: Liu et al. 2023, arXiv:2310.01889 (ring attention), section 3.
    Differs from the paper: parts may come in any order and any number at once.

    >>> out, lse = merge([np.full((1, 1, 1), 2.0), np.full((1, 1, 1), 4.0)], [np.zeros((1, 1)), np.zeros((1, 1))])
    >>> out.item(), round(lse.item(), 4)
    (3.0, 0.6931)
    """
    if _checked(outs, lses) == "numpy":
        out, lse = _merge([x.astype(np.float64) for x in outs], np.stack(lses).astype(np.float64), np)
        return out.astype(outs[0].dtype), lse.astype(lses[0].dtype)
    import torch

    out, lse = _merge([x.to(lses[0].dtype) for x in outs], torch.stack(list(lses)), torch)
    return out.to(outs[0].dtype), lse


def _merge(outs: Sequence[Any], lses: Any, xp: Any) -> tuple[Any, Any]:
    top = xp.amax(lses, 0)
    # Nothing seen in any part: no shift is needed, and -inf - -inf would be NaN.
    shift = xp.where(top == -xp.inf, 0.0, top)
    weights = xp.exp(lses - shift)
    total = weights.sum(0)
    empty = total == 0
    some = xp.where(empty, 1.0, total)
    lse = xp.where(empty, -xp.inf, shift + xp.log(some))
    shares = (weights / some).swapaxes(-1, -2)[..., None]
    return sum(share * out for share, out in zip(shares, outs, strict=True)), lse


def _checked(outs: Sequence[Any], lses: Sequence[Any]) -> Arrays:
    """Whose arrays they are, or an `InputError`."""
    if len(outs) != len(lses) or not len(outs):
        raise InputError(f"outs and lses must be of the same parts, one at least, got {len(outs)} and {len(lses)}")
    parts = {f"outs[{i}]": out for i, out in enumerate(outs)} | {f"lses[{i}]": lse for i, lse in enumerate(lses)}
    library = library_of(parts, "merge")
    shape = tuple(outs[0].shape)
    if len(shape) not in (3, 4):
        raise InputError(
            f"outs must have shape [batch, query, heads, v_dim] or [tokens, heads, v_dim], got {list(shape)}"
        )
    rows = (*shape[:-3], shape[-2], shape[-3])
    for name, array in parts.items():
        of, like, kinds = (shape, outs[0], FLOATS) if name.startswith("outs") else (rows, lses[0], FLOATS[2:])
        if tuple(array.shape) != of:
            raise InputError(f"{name} must have shape {list(of)}, got {list(array.shape)}")
        if array.dtype != like.dtype or dtype_name(array) not in kinds:
            raise InputError(f"{name} must be one of {', '.join(kinds)} and as the first, got {dtype_name(array)}")
    return library
