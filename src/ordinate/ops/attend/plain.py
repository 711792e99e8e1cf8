"""The calls that a model makes for each layer and token: checked in few steps and handed straight to the kernels."""

import math
import sys
from typing import Any

from ordinate.ops.backends import compiled


def attend_plain(q: Any, k: Any, v: Any, causal: Any, softmax_scale: Any, window: Any, mask: Any) -> Any:
    """Attention of dense tensors that need no gradient, or None for any other call and for a wrong one.

    What is left aside here is checked, named and computed by the way that takes everything, for several times the cost.

    Args:
        q, k, v, causal, softmax_scale, window, mask: as for `attend`

    Returns:
        [batch, query, heads, v_dim], or None
    """
    torch = sys.modules.get("torch")
    if compiled is None or torch is None or torch.compiler.is_dynamo_compiling():
        return None
    if q is None or k is None or v is None or not compiled.plain_tensors(q, k, v, mask):
        return None
    of_q, of_k, of_v, dtype = q.shape, k.shape, v.shape, q.dtype
    if not len(of_q) == len(of_k) == len(of_v) == 4 or k.dtype != dtype or v.dtype != dtype:
        return None
    batch, queries, heads, dim = of_q
    kv_heads = of_k[2]
    if (
        dtype not in (torch.float32, torch.bfloat16, torch.float16)
        or not (q.is_cpu and k.is_cpu and v.is_cpu)
        or not (dim and heads and kv_heads and of_v[3])
        or heads % kv_heads
        or of_k != (batch, of_k[1], kv_heads, dim)
        or of_v[:3] != of_k[:3]
        or type(causal) is not bool
        or q.is_neg()
        or k.is_neg()
        or v.is_neg()
        or (torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad))
    ):
        return None
    if softmax_scale is None:
        softmax_scale = dim**-0.5
    elif type(softmax_scale) is not float or not 0 < softmax_scale < math.inf:
        return None
    options = {}
    if window is not None:
        if type(window) is not tuple or len(window) != 2:
            return None
        for side, reach in zip(("left", "right"), window, strict=True):
            if reach is not None:
                if type(reach) is not int or reach < 0:
                    return None
                options[side] = reach
    if mask is not None:
        sizes = (batch, heads, queries, of_k[1])
        if (
            mask.dtype != torch.bool
            or not mask.is_cpu
            or len(mask.shape) != 4
            or any(has not in (1, full) for has, full in zip(mask.shape, sizes, strict=True))
        ):
            return None
        options["mask"] = mask
    out = q.new_empty((batch, queries, heads, of_v[3]))
    compiled.attend(q, k, v, out, None, causal=causal, softmax_scale=softmax_scale, **options)
    return out
