"""What must not matter to `attend`, and what must: laws of positions, keys, heads and caches, of every backend."""

import numpy as np
import pytest
import torch
from attend_calls import backends

from ordinate.errors import Unavailable
from ordinate.ops import attend, rotate
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup

BACKENDS = pytest.mark.parametrize("backend", backends())
COS, SIN = (torch.from_numpy(t) for t in LayerGroup("full_attention", Rope(16)).table(range(5000)))
SLOPES, TABLE = torch.tensor([0.5, 0.25, 0.125, 0.0625]), torch.linspace(-1, 1, 84).view(4, 21)
TERMS = {
    "nothing": {},
    "rotation": {"cos": COS, "sin": SIN},
    "interleaved": {"cos": COS[:, :5], "sin": SIN[:, :5], "pairing": "interleaved", "part": "last"},
    "slopes": {"slopes": SLOPES},
    "table": {"by_distance": TABLE, "reach": 10},
    "window": {"window": (7, 2)},
    "all": {"cos": COS, "sin": SIN, "slopes": SLOPES, "by_distance": TABLE, "reach": 10, "window": (7, None)},
}
BY_TERM = pytest.mark.parametrize("terms", TERMS.values(), ids=TERMS)
CAUSAL = pytest.mark.parametrize("causal", [True, False])


@pytest.fixture
def run():
    """`attend` of a backend by name, or a skip where it leaves the call to another."""

    def run(*arrays, backend, **options):
        try:
            return attend(*arrays, backend=backend, **options)
        except Unavailable as reason:
            if backend == "eager":
                raise
            pytest.skip(str(reason))

    return run


def drawn(queries=33, keys=33, batch=2, kv_heads=2):
    torch.manual_seed(queries + keys)
    return (torch.randn(batch, n, h, 16) for n, h in ((queries, 4), (keys, kv_heads), (keys, kv_heads)))


def close(one, other, atol=2e-6):
    return torch.allclose(one, other, rtol=0, atol=atol)


@BACKENDS
@BY_TERM
@CAUSAL
def test_only_the_distance_between_positions_matters(backend, terms, causal, run):
    q, k, v = drawn(20, 33)
    near = {"query_positions": torch.arange(13, 33), "key_positions": torch.arange(33)}
    far = {name: positions + 4900 for name, positions in near.items()}
    out = run(q, k, v, causal=causal, **near, **terms, backend=backend)
    assert close(out, run(q, k, v, causal=causal, **far, **terms, backend=backend), 4e-6)
    assert close(out, run(q, k, v, causal=causal, **terms, backend=backend))


@BACKENDS
@BY_TERM
@CAUSAL
def test_keys_may_lie_in_any_order(backend, terms, causal, run):
    q, k, v = drawn()
    order = torch.randperm(33)
    places = {"query_positions": torch.arange(33), "key_positions": order}
    out = run(q, k[:, order], v[:, order], causal=causal, **places, **terms, backend=backend)
    assert close(out, run(q, k, v, causal=causal, **terms, backend=backend))


@BACKENDS
@BY_TERM
def test_a_ring_is_its_last_keys_in_order(backend, terms, run):
    q, k, v = drawn(2, 40)
    # 40 tokens have gone through 24 slots, the slots of the last 4 are not written yet.
    slots = torch.full((24,), -1)
    ring = [torch.full((2, 24, 2, 16), float("nan")) for _ in range(2)]
    for position in range(40):
        if position < 36:
            slots[position % 24] = position
            for cache, x in zip(ring, (k, v), strict=True):
                cache[:, position % 24] = x[:, position]
    slots[12:16] = -1
    places = {"query_positions": torch.arange(34, 36), "key_positions": slots}
    kept = sorted(p for p in slots.tolist() if p >= 0)
    whole = {"query_positions": torch.arange(34, 36), "key_positions": torch.tensor(kept)}
    out = run(q, *ring, causal=True, **places, **terms, backend=backend)
    assert close(out, run(q, k[:, kept], v[:, kept], causal=True, **whole, **terms, backend=backend))


@BACKENDS
@BY_TERM
def test_packed_sequences_are_themselves(backend, terms, run):
    q, k, v = drawn(30, 50, batch=1)
    q_sizes, k_sizes = (7, 0, 1, 22), (9, 5, 1, 35)
    borders = {
        "cu_seqlens_q": torch.tensor([0, *q_sizes]).cumsum(0).int(),
        "cu_seqlens_k": torch.tensor([0, *k_sizes]).cumsum(0).int(),
    }
    out, lse = run(q[0], k[0], v[0], causal=True, return_lse=True, **borders, **terms, backend=backend)
    parts = zip(q.split(q_sizes, 1), k.split(k_sizes, 1), v.split(k_sizes, 1), strict=True)
    apart = [run(*part, causal=True, return_lse=True, **terms, backend=backend) for part in parts]
    assert close(out, torch.cat([part[0] for part, _ in apart]))
    assert close(lse, torch.cat([part[0] for _, part in apart], 1))


@BACKENDS
@BY_TERM
@CAUSAL
def test_padding_is_cropping(backend, terms, causal, run):
    q, k, v = drawn(3, 40)
    lengths = torch.tensor([40, 17], dtype=torch.int32)
    out = run(q, k, v, causal=causal, key_lengths=lengths, **terms, backend=backend)
    for row, length in enumerate((40, 17)):
        cropped = (q[row, None], k[row, None, :length], v[row, None, :length])
        assert close(out[row], run(*cropped, causal=causal, **terms, backend=backend)[0])


@BACKENDS
def test_padding_on_the_left_is_a_mask(backend, run):
    q, k, v = drawn(12, 12)
    pad = torch.tensor([0, 5])
    mask = (torch.arange(12) >= pad[:, None])[:, None, None]
    positions = (torch.arange(12) - pad[:, None]).clamp(min=0)
    places = {"query_positions": positions, "key_positions": positions}
    terms = {"causal": True, "cos": COS, "sin": SIN}
    # The queries of padding see each other's place, and what they give is of no use.
    out = run(q, k, v, mask=mask, **places, **terms, backend=backend)
    assert close(out[1, 5:], run(q[1:, 5:], k[1:, 5:], v[1:, 5:], **terms, backend=backend)[0])


@BACKENDS
@BY_TERM
@pytest.mark.parametrize("page_size", [1, 4, 16])
def test_a_paged_cache_is_a_dense_one(backend, terms, page_size, run):
    q, k, v = drawn(3, 48)
    lengths = torch.tensor([48, 21])
    blocks = 48 // page_size
    table = torch.randperm(2 * blocks + 3)[: 2 * blocks].view(2, blocks).int()
    pages = []
    for x in (k, v):
        paged = torch.full((2 * blocks + 3, page_size, 2, 16), float("nan"))
        paged[table.long()] = x.view(2, blocks, page_size, 2, 16)
        pages.append(paged)
    out = run(q, *pages, causal=True, key_lengths=lengths, block_table=table, **terms, backend=backend)
    assert close(out, run(q, k, v, causal=True, key_lengths=lengths, **terms, backend=backend))


@BACKENDS
@BY_TERM
def test_decoding_is_the_last_row_of_prefill(backend, terms, run):
    q, k, v = drawn(40, 40)
    whole = run(q, k, v, causal=True, **terms, backend=backend)
    for start in (39, 31, 8):
        assert close(run(q[:, start:], k, v, causal=True, **terms, backend=backend), whole[:, start:])


@BACKENDS
@BY_TERM
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_grouped_heads_are_repeated_heads(backend, terms, kv_heads, run):
    q, k, v = drawn(9, 20, kv_heads=kv_heads)
    repeated = (x.repeat_interleave(4 // kv_heads, 2) for x in (k, v))
    out = run(q, k, v, causal=True, **terms, backend=backend)
    assert close(out, run(q, *repeated, causal=True, **terms, backend=backend))


@BACKENDS
@pytest.mark.parametrize("name", ["rotation", "interleaved"])
def test_rotating_inside_is_rotating_before(backend, name, run):
    q, k, v = drawn(20, 33)
    places = {"query_positions": torch.randint(0, 5000, (2, 20)), "key_positions": torch.randint(0, 5000, (2, 33))}
    terms = TERMS[name]
    turn = {"pairing": terms.get("pairing", "half"), "part": terms.get("part", "first")}
    q_turned, _ = rotate(q, None, terms["cos"], terms["sin"], places["query_positions"], **turn)
    _, k_turned = rotate(None, k, terms["cos"], terms["sin"], places["key_positions"], **turn)
    out = run(q, k, v, causal=True, **places, **terms, backend=backend)
    assert close(out, run(q_turned, k_turned, v, causal=True, **places, backend=backend))


@BACKENDS
@CAUSAL
def test_slopes_are_a_table(backend, causal, run):
    q, k, v = drawn(20, 33)
    table = -SLOPES[:, None] * torch.arange(-40, 41).abs()
    out = run(q, k, v, causal=causal, slopes=SLOPES, backend=backend)
    assert close(out, run(q, k, v, causal=causal, by_distance=table, reach=40, backend=backend))


@BACKENDS
def test_a_table_is_a_bias_and_a_window_is_a_mask(backend, run):
    q, k, v = drawn(20, 33)
    away = torch.arange(33) - torch.arange(13, 33)[:, None]
    bias = TABLE[:, away.clamp(-10, 10) + 10]
    out = run(q, k, v, by_distance=TABLE, reach=10, backend=backend)
    assert close(out, run(q, k, v, bias=bias, backend=backend))
    out = run(q, k, v, window=(7, 2), keep_first=3, causal=True, backend=backend)
    seen = ((away >= -7) & (away <= 2) | (torch.arange(33) < 3)) & (away <= 0)
    assert close(out, run(q, k, v, mask=seen, backend=backend))


@BACKENDS
def test_a_softcap_far_above_the_logits_changes_nothing_and_a_small_one_bounds_them(backend, run):
    q, k, v = drawn(20, 33)
    plain = run(q, k, v, causal=True, backend=backend)
    assert close(run(q, k, v, causal=True, softcap=1e4, backend=backend), plain)
    flat, lse = run(100 * q, k, v, softcap=1e-4, return_lse=True, backend=backend)
    assert torch.allclose(flat, v.mean(1, keepdim=True).repeat_interleave(2, 2).expand_as(flat), rtol=0, atol=1e-3)
    assert close(lse, torch.full_like(lse, np.log(33)), 1e-3)


@BACKENDS
def test_a_sink_is_one_more_key_of_no_value(backend, run):
    q, k, v = drawn(20, 33)
    sinks = torch.tensor([-2.0, 0.0, 1.0, 5.0])
    bias = torch.zeros(1, 4, 20, 34)
    bias[..., -1] = sinks[:, None]
    one_more = [torch.cat((x, torch.zeros(2, 1, 2, 16)), 1) for x in (k, v)]
    right, logarithms = run(q, *one_more, bias=bias, return_lse=True, backend=backend)
    out, lse = run(q, k, v, sink_logits=sinks, return_lse=True, backend=backend)
    assert close(out, right)
    assert close(lse, logarithms)


@BACKENDS
@pytest.mark.parametrize("of", ["query", "batch"])
def test_a_query_scale_scales_queries(backend, of, run):
    q, k, v = drawn(20, 33)
    scale = torch.rand(20) + 0.5 if of == "query" else torch.rand(2, 20) + 0.5
    options = {"causal": True, "softcap": 2.0, "slopes": SLOPES}
    out = run(q, k, v, query_scale=scale, **options, backend=backend)
    assert close(out, run(scale[..., None, None] * q, k, v, **options, backend=backend))
    assert close(out, run(2 * q, k, v, query_scale=scale, softmax_scale=0.125, **options, backend=backend))


@BACKENDS
def test_a_row_that_sees_nothing_is_zero(backend, run):
    q, k, v = drawn(5, 3)
    out, lse = run(q, k, v, causal=True, return_lse=True, backend=backend)
    # Five queries end where three keys do: the first two stand before every key.
    assert torch.equal(out[:, :2], torch.zeros(2, 2, 4, 16))
    assert torch.equal(lse[..., :2], torch.full((2, 4, 2), -torch.inf))
    assert out[:, 2:].abs().amin() > 0
    assert lse[..., 2:].isfinite().all()
    empty = (q, k[:, :0], v[:, :0])
    out, lse = run(*empty, return_lse=True, backend=backend)
    assert not out.any()
    assert (lse == -torch.inf).all()
    _, lse = run(*empty, sink_logits=SLOPES, return_lse=True, backend=backend)
    assert close(lse, SLOPES[:, None].expand(2, 4, 5))


@BACKENDS
def test_a_tree_of_drafts_reads_its_own_branch(backend, run):
    q, k, v = drawn(4, 10)
    # Six cached tokens, then a root with two children, the second with one of its own.
    parents = [None, 0, 0, 2]
    depth = torch.tensor([0, 1, 1, 2])
    mask = torch.ones(4, 10, dtype=torch.bool)
    mask[:, 6:] = False
    for node in range(4):
        ancestor = node
        while ancestor is not None:
            mask[node, 6 + ancestor] = True
            ancestor = parents[ancestor]
    places = {"query_positions": 6 + depth, "key_positions": torch.cat((torch.arange(6), 6 + depth))}
    terms = {"causal": True, "cos": COS, "sin": SIN}
    out = run(q, k, v, mask=mask, **places, **terms, backend=backend)
    for branch in ([0, 1], [0, 2, 3]):
        kept = [*range(6), *(6 + node for node in branch)]
        right = run(q[:, branch], k[:, kept], v[:, kept], **terms, backend=backend)
        assert close(out[:, branch], right)


@BACKENDS
@BY_TERM
def test_positions_may_be_of_either_integer_and_of_each_row(backend, terms, run):
    q, k, v = drawn(9, 20)
    queries, keys = torch.arange(9) + 30, torch.arange(20) + 20
    out = run(q, k, v, causal=True, query_positions=queries, key_positions=keys, **terms, backend=backend)
    for kind in (torch.int32, torch.int64):
        rows = {"query_positions": queries.to(kind).expand(2, 9), "key_positions": keys.to(kind).repeat(2, 1)}
        assert close(run(q, k, v, causal=True, **rows, **terms, backend=backend), out, 1e-6)
