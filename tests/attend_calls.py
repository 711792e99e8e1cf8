"""Random calls of `attend`, and what they must give, a logit at a time in Python's own floats."""

import math
from contextlib import contextmanager
from importlib import import_module
from unittest import mock

import numpy as np
import torch
from hypothesis import strategies as st

from ordinate.errors import Unavailable
from ordinate.ops.backends import BACKENDS, choose, compiled

FLOATS = ("q", "k", "v", "sink_logits", "bias", "slopes", "by_distance", "query_scale")
"""The arguments that gradients flow to, apart from the table and a scheme's own."""


def expected(
    q,
    k,
    v,
    *,
    causal=False,
    softmax_scale=None,
    softcap=None,
    window=None,
    keep_first=0,
    sink_logits=None,
    query_positions=None,
    key_positions=None,
    cu_seqlens_q=None,
    cu_seqlens_k=None,
    key_lengths=None,
    mask=None,
    bias=None,
    slopes=None,
    by_distance=None,
    reach=None,
    cos=None,
    sin=None,
    pairing="half",
    part="first",
    query_scale=None,
    block_table=None,
):
    """out and lse in float64; no array of logits is ever made."""
    packed, paged = cu_seqlens_q is not None, block_table is not None
    heads, group = q.shape[-2], q.shape[-2] // k.shape[-2]
    scale = 1 / math.sqrt(q.shape[-1]) if softmax_scale is None else softmax_scale
    left, right = (math.inf if side is None else side for side in window or (None, None))
    capacity = k.shape[1] * block_table.shape[1] if paged else k.shape[-3]
    if packed:
        sequences = list(zip(cu_seqlens_q, cu_seqlens_q[1:], cu_seqlens_k, cu_seqlens_k[1:], strict=False))
    else:
        lengths = [capacity] * len(q) if key_lengths is None else key_lengths.tolist()
        sequences = [(0, q.shape[1], 0, length) for length in lengths]
    out = np.zeros((*q.shape[:-1], v.shape[-1]))
    lse = np.full((heads, len(q)) if packed else (len(q), heads, q.shape[1]), -np.inf)

    def entry(array, row, *index):
        """An entry of an array that may be the same for all rows, or for all of an axis."""
        array = array if array.ndim == len(index) else array[row if len(array) > 1 else 0]
        return float(array[tuple(i if size > 1 else 0 for i, size in zip(index, array.shape, strict=True))])

    def of_logit(array, row, *index):
        array = array.reshape((1,) * (4 - array.ndim) + array.shape)
        return entry(array, row, *index)

    def turned(x, position):
        if cos is None:
            return x.tolist()
        pairs, x = cos.shape[1], x.tolist()
        start = len(x) - 2 * pairs if part == "last" else 0
        for i in range(pairs):
            first, second = (i, i + pairs) if pairing == "half" else (2 * i, 2 * i + 1)
            turn = complex(cos[position, i], sin[position, i])
            z = complex(x[start + first], x[start + second]) * turn
            x[start + first], x[start + second] = z.real, z.imag
        return x

    for row, (q_start, q_end, k_start, k_end) in enumerate(sequences):
        places = {}
        for j in range(k_start, k_end):
            place = j - k_start if key_positions is None else int(entry(key_positions, row, j))
            if place >= 0:
                places[j] = place
        for i in range(q_start, q_end):
            last = (k_end - k_start) - (q_end - q_start)
            place = i - q_start + last if query_positions is None else int(entry(query_positions, row, i))
            for h in range(heads):
                logits = {}
                query = turned(q[i, h] if packed else q[row, i, h], place)
                for j, key_place in places.items():
                    away = key_place - place
                    near = -left <= away <= right or key_place < keep_first
                    if not near or (causal and away > 0):
                        continue
                    if mask is not None and not of_logit(mask, row, h, i, j):
                        continue
                    key, _ = read(k, v, row, j, h // group, packed, block_table)
                    logit = scale * sum(a * b for a, b in zip(query, turned(key, key_place), strict=True))
                    logit *= 1.0 if query_scale is None else entry(query_scale, row, i)
                    if softcap is not None:
                        logit = softcap * math.tanh(logit / softcap)
                    if bias is not None:
                        logit += of_logit(bias, row, h, i, j)
                    if slopes is not None:
                        logit -= entry(slopes, row, h) * abs(away)
                    if by_distance is not None:
                        logit += float(by_distance[h, min(max(away, -reach), reach) + reach])
                    logits[j] = float(logit)
                sinks = [] if sink_logits is None else [float(sink_logits[h])]
                if not [*logits.values(), *sinks]:
                    continue
                top = max([*logits.values(), *sinks])
                total = math.fsum(math.exp(logit - top) for logit in [*logits.values(), *sinks])
                at, logarithm = ((i, h), (h, i)) if packed else ((row, i, h), (row, h, i))
                lse[logarithm] = top + math.log(total)
                for j, logit in logits.items():
                    out[at] += math.exp(logit - top) / total * read(k, v, row, j, h // group, packed, block_table)[1]
    return out, lse


def read(k, v, row, j, head, packed, block_table):
    """Key and value j of a sequence, float64."""
    if packed:
        at = (j, head)
    elif block_table is not None:
        at = (block_table[row, j // k.shape[1]], j % k.shape[1], head)
    else:
        at = (row, j, head)
    return k[at].astype(np.float64), v[at].astype(np.float64)


@st.composite
def calls(draw, dtype="float64"):
    """Arguments of one call as NumPy arrays, without a scheme: every layout and option, empty and odd shapes."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    layout = draw(st.sampled_from(["dense", "dense", "packed", "paged"]))
    kv_heads, group = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    heads, dim, v_dim = kv_heads * group, draw(st.sampled_from([1, 2, 3, 4, 8])), draw(st.sampled_from([1, 3, 8]))
    integers = draw(st.sampled_from(["int32", "int64"]))
    side = dtype if dtype == "float64" and draw(st.booleans()) else "float32"
    wanted = {name for name in OPTIONS if draw(st.integers(0, 3)) == 0}
    call = {"causal": draw(st.booleans())}

    if layout == "packed":
        count = draw(st.integers(0, 3))
        q_sizes, k_sizes = (draw(st.lists(st.integers(0, 5), min_size=count, max_size=count)) for _ in range(2))
        queries, keys, rows = sum(q_sizes), sum(k_sizes), ()
        for name, sizes in (("cu_seqlens_q", q_sizes), ("cu_seqlens_k", k_sizes)):
            call[name] = np.cumsum([0, *sizes]).astype(integers)
    else:
        batch, queries = draw(st.integers(0, 3)), draw(st.integers(0, 5))
        rows, page_size, blocks = (batch,), draw(st.integers(1, 4)), draw(st.integers(0, 3))
        keys = page_size * blocks if layout == "paged" else draw(st.integers(0, 9))
        if layout == "paged" or "key_lengths" in wanted:
            call["key_lengths"] = random.integers(0, keys + 1, batch).astype(integers)
    shape = (*rows, keys, kv_heads)
    if layout == "paged":
        pages = max(batch * blocks, 1)
        shape = (pages, page_size, kv_heads)
        table = random.permutation(pages)[: batch * blocks].reshape(batch, blocks)
        # What no length reaches may be anything.
        unused = np.arange(blocks) >= -(-call["key_lengths"][:, None] // page_size)
        call["block_table"] = np.where(unused, draw(st.sampled_from([-1, 10**6])), table).astype(integers)
    for name, of in (("q", (*rows, queries, heads, dim)), ("k", (*shape, dim)), ("v", (*shape, v_dim))):
        call[name] = random.standard_normal(of).astype(dtype)

    def per_token(tokens, values):
        return values((tokens,) if draw(st.booleans()) or not rows else (*rows, tokens))

    pairs = draw(st.integers(1, dim // 2)) if dim > 1 and "rotation" in wanted else 0
    if "positions" in wanted or pairs:
        call["query_positions"] = per_token(queries, lambda s: random.integers(0, 12, s).astype(integers))
    if "key_positions" in wanted and "query_positions" in call:
        call["key_positions"] = per_token(keys, lambda s: random.integers(-2, 12, s).astype(integers))
    if pairs:
        angles = random.uniform(-4, 4, (12 if keys < 12 else keys, pairs))
        call["cos"], call["sin"] = (1.1 * f(angles) for f in (np.cos, np.sin))
        call |= {name: call[name].astype(np.float32) for name in ("cos", "sin")}
        call["pairing"] = draw(st.sampled_from(["half", "interleaved", "interleaved-in-half-out"]))
        call["part"] = draw(st.sampled_from(["first", "last"]))
    if "window" in wanted:
        call["window"] = draw(st.tuples(*[st.one_of(st.none(), st.integers(0, 4))] * 2))
        call["keep_first"] = draw(st.integers(0, 2))
    if "softmax_scale" in wanted:
        call["softmax_scale"] = draw(st.sampled_from([0.3, 1.0]))
    if "softcap" in wanted:
        call["softcap"] = draw(st.sampled_from([0.5, 2.0]))
    if "sink_logits" in wanted:
        call["sink_logits"] = random.standard_normal(heads).astype(side)
    if "slopes" in wanted:
        sequences = rows or (len(call["cu_seqlens_q"]) - 1,)
        of = draw(st.sampled_from([(heads,), (*sequences, heads)]))
        call["slopes"] = random.uniform(-1, 1, of).astype(side)
    if "by_distance" in wanted:
        call["reach"] = draw(st.integers(0, 5))
        call["by_distance"] = random.standard_normal((heads, 2 * call["reach"] + 1)).astype(side)
    if "query_scale" in wanted:
        call["query_scale"] = per_token(queries, lambda s: random.uniform(0.5, 2, s).astype(side))
    for name in {"mask", "bias"} & wanted if rows else ():
        full = (*rows, heads, queries, keys)
        of = [size if draw(st.booleans()) else 1 for size in full][draw(st.integers(0, 4)) :]
        call[name] = (
            np.asarray(random.random(of) < 0.7) if name == "mask" else np.asarray(random.normal(size=of), dtype)
        )
    return call


OPTIONS = (
    "key_lengths",
    "positions",
    "key_positions",
    "rotation",
    "window",
    "softmax_scale",
    "softcap",
    "sink_logits",
    "slopes",
    "by_distance",
    "query_scale",
    "mask",
    "bias",
)


def to_torch(call, dtype=None, **changes):
    """The same call of tensors; q, k and v of another dtype where one is given."""
    call = {name: torch.from_numpy(x) if isinstance(x, np.ndarray) else x for name, x in call.items()} | changes
    if dtype is not None:
        call |= {name: call[name].to(dtype) for name in ("q", "k", "v")}
    return call


TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-6, torch.bfloat16: 2**-8, torch.float16: 2**-10}
"""How far an output may be from the reference, as a share of the largest value."""


def tolerance(dtype, call):
    """Of a call's output, and of its lse: matrix registers round bfloat16 q and k that turn inside once more."""
    if dtype == torch.bfloat16 and call.get("cos") is not None and compiled and compiled.instruction_set() == "amx":
        return 2 * TOLERANCE[dtype], 2**-5
    return TOLERANCE[dtype], 4e-6


def backends():
    """The backends that take torch tensors on this machine."""
    found = []
    for name in BACKENDS:
        try:
            choose("cpu", "float32", backend=name)
        except Unavailable:
            continue
        found.append(name)
    return found


@contextmanager
def small_blocks(rows=2):
    """Let eager go by blocks of a few queries, as it does where there are thousands."""
    blocks = import_module("ordinate.ops.attend.blocks")
    with mock.patch.multiple(blocks, LOGITS=1, LEAST_ROWS=rows):
        yield
