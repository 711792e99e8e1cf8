"""`attend` in PyTorch's own operators: float32 arithmetic, differentiable, on any device, in O(tokens) memory."""

from dataclasses import replace

import torch
from torch import Tensor

from ordinate.errors import Unavailable
from ordinate.ops.attend.arguments import Call
from ordinate.ops.attend.blocks import by_blocks, full_precision, whole
from ordinate.ops.attend.places import Places, dense_places, packed_places, sequence_of
from ordinate.ops.attend.terms import Rules
from ordinate.ops.attend.values import is_traced
from ordinate.ops.rotate import rotate


def attend_call(call: Call) -> tuple[Tensor, Tensor | None]:
    """Attention of a call; the arguments are checked already, the semantics are those of `reference`.

    While torch compiles or exports, all logits are made at once: a loop over blocks would be unrolled for one length.

    Returns:
        out: [batch or 1, query, heads, v_dim], of the dtype of q
        lse: [batch or 1, heads, query], float32 (float64 for float64), or None
    """
    with full_precision(call.q.device.type):
        if is_traced(call.q):
            out, lse = _traced(call)
        elif call.packed:
            out, lse = _packed(call)
        else:
            places = dense_places(call)
            out, lse = by_blocks(_rules(call, places), _tensors(call, places))
    return out.to(call.q.dtype), lse if call.return_lse else None


def _packed(call: Call) -> tuple[Tensor, Tensor | None]:
    """Packed sequences, each by itself."""
    of_query = sequence_of(call.cu_seqlens_q, call.queries)
    places = packed_places(call, of_query, sequence_of(call.cu_seqlens_k, call.keys))
    tensors = _tensors(call, places)
    q_sizes, k_sizes = (borders.diff().tolist() for borders in (call.cu_seqlens_q, call.cu_seqlens_k))
    if not q_sizes:
        return tensors["q"].new_zeros(1, 0, call.heads, call.v.shape[3]), tensors["q"].new_zeros(1, call.heads, 0)
    # Splitting gives all parts of a tensor one gradient; slices would give each a gradient of the whole.
    axes = {
        "q": (q_sizes, 2),
        "k": (k_sizes, 2),
        "v": (k_sizes, 2),
        "content q": (q_sizes, 1),
        "content k": (k_sizes, 1),
    }
    split = {name: tensors[name].split(*axis) for name, axis in axes.items() if name in tensors}
    queries, keys = places.queries.split(q_sizes, 1), places.keys.split(k_sizes, 1)
    made = []
    for number in range(len(q_sizes)):
        own = tensors | {name: parts[number] for name, parts in split.items()}
        if "slopes" in own and len(own["slopes"]) > 1:
            own["slopes"] = tensors["slopes"][number : number + 1]
        place = Places(queries[number], keys[number], None if places.there is None else keys[number] >= 0)
        made.append(by_blocks(_rules(call, place), own))
    lse = torch.cat([lse for _, lse in made], 2) if call.return_lse else None
    return torch.cat([out for out, _ in made], 1), lse


def _traced(call: Call) -> tuple[Tensor, Tensor | None]:
    """All logits at once; packed sequences are kept apart by a mask."""
    if call.scheme is not None:
        raise Unavailable("a scheme is evaluated in NumPy and cannot be compiled: give its bias, slopes or by_distance")
    if not call.packed:
        places = dense_places(call)
        return whole(_rules(call, places), _tensors(call, places))
    of_query = sequence_of(call.cu_seqlens_q, call.queries)
    of_key = sequence_of(call.cu_seqlens_k, call.keys)
    places = packed_places(call, of_query, of_key)
    tensors = _tensors(call, places)
    if "slopes" in tensors and len(tensors["slopes"]) > 1:
        tensors["slopes"] = tensors["slopes"][of_query, :, 0].t()[None]
    together = (of_query[:, None] == of_key)[None, None]
    return whole(replace(_rules(call, places), mask=together), tensors)


def _rules(call: Call, places: Places) -> Rules:
    return Rules(
        places=places,
        causal=call.causal,
        left=call.left,
        right=call.right,
        keep_first=call.keep_first,
        mask=call.mask,
        softcap=call.softcap,
        reach=call.reach,
        scheme=call.scheme,
        return_lse=call.return_lse,
    )


def _tensors(call: Call, places: Places) -> dict[str, Tensor]:
    """What gradients may flow to, as `by_blocks` reads it: in full precision, gathered, rotated and scaled."""
    arithmetic = torch.float64 if call.q.dtype == torch.float64 else torch.float32
    q, k, v = (x.to(arithmetic) for x in (call.q, *_gathered(call)))
    if places.there is not None:
        # Memory that holds no key may hold NaN, and 0 * NaN is NaN.
        k, v = (torch.where(places.there[..., None, None], x, 0.0) for x in (k, v))
    given = {}
    if call.scheme is not None and call.scheme.needs == "content":
        given |= {"content q": q, "content k": k}
    if call.cos is not None:
        # Where no key is, its position may be anything.
        keys = places.keys if places.there is None else torch.where(places.there, places.keys, 0)
        q, k = (_rotated(x, call, positions) for x, positions in ((q, places.queries), (k, keys)))
    q = call.softmax_scale * q
    if call.query_scale is not None:
        q = q * call.query_scale.to(arithmetic)[..., None, None]
    given |= {name: x.transpose(1, 2) for name, x in (("q", q), ("k", k), ("v", v))}
    if len(q) > 1:
        # Blocks read k and v again and again: a product would copy them each time if heads were not outermost.
        given |= {"k": given["k"].contiguous(), "v": given["v"].contiguous()}
    for name in ("bias", "by_distance", "sink_logits"):
        if getattr(call, name) is not None:
            given[name] = getattr(call, name)
    if call.slopes is not None:
        given["slopes"] = call.slopes.to(arithmetic)[..., None]
    return given | {f"learned {name}": value for name, value in call.learned.items()}


def _gathered(call: Call) -> tuple[Tensor, Tensor]:
    """k and v as [batch, key, kv_heads, dim]."""
    if not call.paged:
        return call.k, call.v
    pages = call.k.shape[0]
    if pages == 0:
        shape = (call.q.shape[0], call.keys, call.kv_heads)
        return call.k.new_zeros(*shape, call.k.shape[3]), call.v.new_zeros(*shape, call.v.shape[3])
    # Entries past a sequence's length may be anything.
    first_token = torch.arange(call.block_table.shape[1], device=call.q.device) * call.k.shape[1]
    table = torch.where(first_token < call.key_lengths[:, None], call.block_table, 0).long()
    return call.k[table].flatten(1, 2), call.v[table].flatten(1, 2)


def _rotated(x: Tensor, call: Call, positions: Tensor) -> Tensor:
    """x, [batch, tokens, heads, dim], turned by [batch or 1, tokens] positions."""
    positions = positions[0] if len(positions) == 1 else positions
    turn = call.turn
    return rotate(x, None, call.cos, call.sin, positions, turn.pairing, part=turn.part, backend="eager")[0]
