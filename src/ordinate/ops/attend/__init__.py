"""`attend`: attention with rotation, bias and masks by position inside."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from ordinate.errors import Unavailable
from ordinate.ops.attend.arguments import Call, checked
from ordinate.ops.attend.merge import merge
from ordinate.ops.attend.plain import attend_plain
from ordinate.ops.attend.values import is_traced
from ordinate.ops.backends import choose
from ordinate.ops.rotate.arguments import Pairing, Part, dtype_name
from ordinate.schemes.base import Bias

__all__ = ["attend", "merge"]


def attend(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    softmax_scale: float | None = None,
    softcap: float | None = None,
    window: tuple[int | None, int | None] | None = None,
    keep_first: int = 0,
    sink_logits: Any = None,
    query_positions: Any = None,
    key_positions: Any = None,
    cu_seqlens_q: Any = None,
    cu_seqlens_k: Any = None,
    key_lengths: Any = None,
    mask: Any = None,
    bias: Any = None,
    slopes: Any = None,
    by_distance: Any = None,
    reach: int | None = None,
    cos: Any = None,
    sin: Any = None,
    pairing: Pairing = "half",
    part: Part = "first",
    query_scale: Any = None,
    scheme: Bias | None = None,
    learned: Mapping[str, Any] | None = None,
    block_table: Any = None,
    return_lse: bool = False,
    backend: str = "auto",
) -> Any:
    """Attention of queries to keys, with everything that position does to it.

    logits = softmax_scale * query_scale * (q . k), of q and k rotated by their positions where cos and sin are given
    logits = softcap * tanh(logits / softcap)
    logits = logits - slopes * |query - key| + by_distance[clamp(key - query, -reach, reach) + reach] + bias + scheme
    out    = sum over visible keys of exp(logits) * v / (sum over visible keys of exp(logits) + exp(sink_logits))

    NumPy arrays are computed in float64, torch tensors in float32 (float64 where they are float64), in O(tokens)
    memory; either is rounded once to the dtype of q. Matrix registers (amx) round weights, and what turns, to bfloat16
    where q, k and v are that, unless slopes, by_distance or sink_logits get a gradient. Gradients flow to every array
    of floats, once: a second derivative is an error, and torch.func's transforms (vmap, grad, jvp) are refused.
    In a graph that torch compiles the kernels are one operator where types and gradients let them take the call, and
    positions must then lie within 2^30 of 0. "eager", and every graph that torch exports, has standard operators,
    which make all logits at once. A scheme is refused in a graph.

    A query stands where `query_positions` says, a key where `key_positions` does. Without them key j stands at j, and
    the last query where the last key does: query i of n at length - n + i, of each sequence's own length. These
    places decide causality, the window, bias and rotation. A query that sees nothing gives 0.

    Args:
        q: [batch, query, heads, dim], or packed [tokens, heads, dim]; float16, bfloat16 (torch), float32 or float64
        k: [batch, key, kv_heads, dim], packed [tokens, kv_heads, dim], or paged [pages, page_size, kv_heads, dim];
            heads must be a multiple of kv_heads: query head h reads head h // (heads // kv_heads)
        v: as k, with a width of its own: [..., v_dim]
        causal: whether keys after the query are hidden
        softmax_scale: what multiplies q k; 1 / sqrt(dim) where None, [1]
        softcap: the bound of logits before bias (Gemma 2), [logit]
        window: (left, right): only keys from query - left to query + right are seen; None on a side for no bound,
            [token]
        keep_first: keys at positions below it are seen beyond the window too (StreamingLLM's sinks), [token]
        sink_logits: [heads], one more logit in each denominator (gpt-oss), float32, [logit]
        query_positions, key_positions: [tokens] or [batch, tokens], packed [tokens], int32 or int64; a negative key
            position says that no key is there (an empty slot of a ring)
        cu_seqlens_q, cu_seqlens_k: [sequences + 1], int32 or int64, where packed sequences begin and end, [token]
        key_lengths: [batch], int32 or int64: keys from there on are not there (padding, the rest of a cache), [token]
        mask: bool, broadcasts to [batch, heads, query, key], True where a query sees a key. What is hidden must hold
            finite numbers; memory where no key is, by length or position, may hold anything
        bias: floats, broadcasts to [batch, heads, query, key], added to the logits, [logit]
        slopes: [heads] or [batch, heads], float32: ALiBi, [logit/token]
        by_distance: [heads, 2 * reach + 1], float32: a bias at each distance from -reach to reach, key minus query
            position; what is further counts as reach, [logit]
        reach: see there, [token]
        cos, sin: [table, pairs], float32: q and k are rotated by their positions as `rotate` does
        pairing, part: as for `rotate`
        query_scale: [query] or [batch, query], packed [tokens], float32: multiplies a query's logits (temperature), [1]
        scheme: a bias of `ordinate.schemes`, evaluated by blocks of queries; one that needs content reads q and k as
            they are given
        learned: the scheme's learned parameters
        block_table: [batch, blocks], int32 or int64: which pages hold a sequence, in order; needs `key_lengths`
        return_lse: whether to return the logarithm of the denominators too, which `merge` needs
        backend: "auto", or a name in `ordinate.ops.backends`

    Returns:
        [batch, query, heads, v_dim], or packed [tokens, heads, v_dim], of the dtype of q; with `return_lse` a pair:
        this and [batch, heads, query], or packed [heads, tokens], float32 (float64 for float64), -inf where a
        denominator is 0

    Raises:
        InputError: a shape, dtype, device or combination that does not fit, a position outside the table, a page or
            a border that is not there
        Unavailable: the backend asked for is not here, or cannot do what is asked

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1; Dao et al. 2022, arXiv:2205.14135, for memory.
    Differs from the paper: everything that position does is inside; one softmax of the whole.

    >>> q, k = np.zeros((1, 2, 1, 4)), np.zeros((1, 2, 1, 4))
    >>> v = np.array([1.0, 3.0]).reshape(1, 2, 1, 1)
    >>> attend(q, k, v, causal=True).ravel()
    array([1., 2.])
    """
    # Most calls give nothing else: those are found out first.
    if (
        backend == "auto"
        and query_positions is key_positions is key_lengths is cu_seqlens_q is cu_seqlens_k is block_table is None
        and bias is slopes is by_distance is reach is scheme is learned is None
        and softcap is sink_logits is cos is sin is query_scale is None
        and (type(keep_first), keep_first, pairing, part) == (int, 0, "half", "first")
        and return_lse is False
    ):
        made = attend_plain(q, k, v, causal, softmax_scale, window, mask)
        if made is not None:
            return made
    call = checked(
        q,
        k,
        v,
        causal=causal,
        softmax_scale=softmax_scale,
        softcap=softcap,
        window=window,
        keep_first=keep_first,
        sink_logits=sink_logits,
        query_positions=query_positions,
        key_positions=key_positions,
        cu_seqlens_q=cu_seqlens_q,
        cu_seqlens_k=cu_seqlens_k,
        key_lengths=key_lengths,
        mask=mask,
        bias=bias,
        slopes=slopes,
        by_distance=by_distance,
        reach=reach,
        cos=cos,
        sin=sin,
        pairing=pairing,
        part=part,
        query_scale=query_scale,
        scheme=scheme,
        learned=learned,
        block_table=block_table,
        return_lse=return_lse,
    )
    if call.library == "torch" and scheme is not None and not is_traced(q):
        from ordinate.ops.attend.tables import with_tables

        call = with_tables(call)
    out, lse = _implementation(call, backend).attend_call(call)
    if call.packed:
        out, lse = out[0], None if lse is None else lse[0]
    return (out, lse) if return_lse else out


def _implementation(call: Call, backend: str) -> Any:
    """The module that computes this call."""
    if is_traced(call.q):
        # A graph cannot look a backend up.
        from ordinate.ops.attend import eager, operators

        return operators if operators.serves(call, backend) else eager
    device = "cpu" if call.library == "numpy" else call.q.device.type
    name = choose(device, dtype_name(call.q), arrays=call.library, backend=backend).name
    module = import_module(f"ordinate.ops.attend.{name}")
    if name in ("reference", "eager"):
        return module
    # A compiled backend says itself what it leaves to the two that take everything.
    reason = module.serves(call)
    if reason is None:
        return module
    if backend != "auto":
        raise Unavailable(f"backend {backend!r} cannot compute this call: {reason}")
    return import_module(f"ordinate.ops.attend.{'reference' if isinstance(call.q, np.ndarray) else 'eager'}")
