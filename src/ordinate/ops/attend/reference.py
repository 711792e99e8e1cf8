"""The definition of `attend`, in NumPy and float64: every logit is written out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ordinate.ops.attend.arguments import Call
from ordinate.ops.rotate import rotate


@dataclass(frozen=True)
class Sequence:
    """One sequence of a call: its queries, and those of its keys that are there."""

    q: np.ndarray  # [query, heads, dim]
    k: np.ndarray  # [key, kv_heads, dim]
    v: np.ndarray  # [key, kv_heads, v_dim]
    query_positions: np.ndarray  # [query]
    key_positions: np.ndarray  # [key]
    query_scale: np.ndarray  # [query]
    slopes: np.ndarray  # [heads]
    mask: np.ndarray  # broadcasts to [heads, query, key]
    bias: np.ndarray  # broadcasts to [heads, query, key]


def attend_call(call: Call) -> tuple[np.ndarray, np.ndarray | None]:
    """Attention of a call; the arguments are checked already.

    logits = softmax_scale * query_scale * (q . k), of q and k rotated by their positions
    logits = softcap * tanh(logits / softcap)
    logits = logits - slopes * |query - key| + by_distance[clamp(key - query)] + bias + scheme
    weights = exp(logits) / (sum of exp(logits) over the visible keys + exp(sink_logits)), 0 where nothing is visible
    out = weights @ v

    Returns:
        out: [batch or 1, query, heads, v_dim], computed in float64, rounded once to the dtype of q
        lse: [batch or 1, heads, query], the logarithm of the denominator, float32 (float64 for float64); or None
    """
    out = np.zeros((*call.q.shape[:3], call.v.shape[3]))
    lse = np.full((call.q.shape[0], call.heads, call.queries), -np.inf)
    for row, queries, sequence in _sequences(call):
        made, logarithms = _attend(sequence, call)
        out[row, queries], lse[row, :, queries] = made, logarithms
    wide = call.q.dtype == np.float64
    return out.astype(call.q.dtype), lse.astype(np.float64 if wide else np.float32) if call.return_lse else None


def _attend(one: Sequence, call: Call) -> tuple[np.ndarray, np.ndarray]:
    """[query, heads, v_dim] and [heads, query], float64."""
    q, k, v = (x.astype(np.float64) for x in (one.q, one.k, one.v))
    content = {"q": q, "k": _each_query_head(k, q)} if call.scheme and call.scheme.needs == "content" else {}
    if call.cos is not None:
        q, k = (
            rotate(x, None, call.cos, call.sin, at, call.turn.pairing, part=call.turn.part, backend="reference")[0]
            for x, at in ((q, one.query_positions), (k, one.key_positions))
        )
    logits = np.einsum("qhd,khd->hqk", q, _each_query_head(k, q))
    logits = call.softmax_scale * one.query_scale[:, None] * logits
    if call.softcap is not None:
        logits = call.softcap * np.tanh(logits / call.softcap)

    distance = one.key_positions[None, :] - one.query_positions[:, None]
    logits = logits - one.slopes[:, None, None] * np.abs(distance) + one.bias
    if call.by_distance is not None:
        logits = logits + call.by_distance[:, np.clip(distance, -call.reach, call.reach) + call.reach]
    if call.scheme is not None:
        places = one.query_positions, one.key_positions
        logits = logits + call.scheme.bias(*places, learned=call.learned or None, **content)

    logits = np.where(_in_reach(distance, one.key_positions, call) & one.mask, logits, -np.inf)
    sinks = np.full(call.heads, -np.inf) if call.sink_logits is None else call.sink_logits.astype(np.float64)
    highest = np.maximum(logits.max(axis=-1, initial=-np.inf), sinks[:, None])
    shift = np.where(np.isneginf(highest), 0.0, highest)
    weights = np.exp(logits - shift[..., None])
    total = weights.sum(axis=-1) + np.exp(sinks[:, None] - shift)
    with np.errstate(divide="ignore"):  # the logarithm of 0 is meant
        lse = shift + np.log(total)
    weights = weights / np.where(total == 0, 1.0, total)[..., None]
    return np.einsum("hqk,khd->qhd", weights, _each_query_head(v, q)), lse


def _in_reach(distance: np.ndarray, key_positions: np.ndarray, call: Call) -> np.ndarray:
    """Which keys causality and the window let a query see: [query, key]."""
    near = np.ones(distance.shape, bool)
    if call.left is not None:
        near &= distance >= -call.left
    if call.right is not None:
        near &= distance <= call.right
    near |= key_positions < call.keep_first
    return near & (distance <= 0) if call.causal else near


def _each_query_head(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Key or value heads repeated for the query heads that read them."""
    return np.repeat(x, q.shape[1] // x.shape[1], axis=1)


def _sequences(call: Call) -> Iterator[tuple[int, slice, Sequence]]:
    """Each sequence with its row and its queries' place in the call."""
    if call.packed:
        borders = zip(call.cu_seqlens_q, call.cu_seqlens_q[1:], call.cu_seqlens_k, call.cu_seqlens_k[1:], strict=False)
        for number, (q_start, q_end, k_start, k_end) in enumerate(borders):
            queries, keys = slice(q_start, q_end), slice(k_start, k_end)
            yield 0, queries, _sequence(call, 0, number, queries, call.k[0, keys], call.v[0, keys], keys)
        return
    for row in range(call.q.shape[0]):
        length = call.keys if call.key_lengths is None else int(call.key_lengths[row])
        k, v = call.k, call.v
        if call.paged:
            # Token j of a sequence is token j % page_size of page block_table[j // page_size].
            page_size = call.k.shape[1]
            token = np.arange(length)
            page = call.block_table[row, token // page_size]
            k, v = k[page, token % page_size], v[page, token % page_size]
        else:
            k, v = k[row, :length], v[row, :length]
        yield row, slice(None), _sequence(call, row, row, slice(None), k, v, slice(0, length))


def _sequence(call: Call, row: int, number: int, queries: slice, k: np.ndarray, v: np.ndarray, keys: slice) -> Sequence:
    """Sequence `number`, in `row`, of the keys that are there."""
    q = call.q[row, queries]
    if call.query_positions is None:
        query_positions = len(k) - len(q) + np.arange(len(q))
    else:
        query_positions = _row(call.query_positions, row)[queries].astype(np.int64)
    if call.key_positions is None:
        key_positions = np.arange(len(k))
    else:
        key_positions = _row(call.key_positions, row)[keys].astype(np.int64)
    there = key_positions >= 0

    def of_logits(array: np.ndarray | None, missing: Any) -> np.ndarray:
        if array is None:
            return np.asarray(missing)
        array = _row(array, row)
        return array if array.shape[-1] == 1 and call.keys != 1 else array[..., keys][..., there]

    ones = np.ones(len(q))
    return Sequence(
        q=q,
        k=k[there],
        v=v[there],
        query_positions=query_positions,
        key_positions=key_positions[there],
        query_scale=ones if call.query_scale is None else _row(call.query_scale, row)[queries].astype(np.float64),
        slopes=np.zeros(call.heads) if call.slopes is None else _row(call.slopes, number).astype(np.float64),
        mask=of_logits(call.mask, True),
        bias=of_logits(call.bias, 0.0),
    )


def _row(array: np.ndarray, row: int) -> np.ndarray:
    """The row of a batch, or the one that all share."""
    return array[row if len(array) > 1 else 0]
