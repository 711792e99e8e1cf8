"""MLA: the latent and one rotary key a token, by plain and absorbed projection, against transformers."""

from dataclasses import replace

import pytest
import torch
from transformers import DeepseekV2Config, DeepseekV3Config, DynamicCache
from transformers.models.deepseek_v2 import modeling_deepseek_v2
from transformers.models.deepseek_v3 import modeling_deepseek_v3

import ordinate
from ordinate.caches import Frozen, Paged, PerRow, Ring
from ordinate.caches.latent import Expansion, attend_latent
from ordinate.caches.latent_cache import LatentCache
from ordinate.caches.storage import storage, storages
from ordinate.errors import InputError
from ordinate.scaling.abf import Abf
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.schemes.rope import Rope
from ordinate.spec import Heads, LayerGroup

NOPE, ROTARY, VALUE, LATENT, HEADS = 10, 8, 12, 24, 4
PROJECTIONS = ["plain", "absorbed"]
YARN = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 64,
    "mscale": 1.0,
    "mscale_all_dim": 0.8,
    "beta_fast": 32,
    "beta_slow": 1,
}
SHAPE = {
    "hidden_size": 64,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "kv_lora_rank": LATENT,
    "q_lora_rank": 20,
    "qk_rope_head_dim": ROTARY,
    "qk_nope_head_dim": NOPE,
    "v_head_dim": VALUE,
    "num_hidden_layers": 1,
    "max_position_embeddings": 256,
    "attn_implementation": "eager",
}


def layer(interleave: bool = True, **settings):
    """One attention layer of DeepSeek-V3 with random weights, its rotary embedding and its group."""
    torch.manual_seed(0)
    config = DeepseekV3Config(**SHAPE | {"rope_interleave": interleave, "rope_parameters": dict(YARN)} | settings)
    attention = modeling_deepseek_v3.DeepseekV3Attention(config, 0).eval()
    for weight in attention.parameters():
        torch.nn.init.normal_(weight, std=0.3 if weight.ndim > 1 else 0.1)
    return attention, modeling_deepseek_v3.DeepseekV3RotaryEmbedding(config), ordinate.read(config.to_dict()).group


def parts(attention, hidden):
    """q, k_pe and the latent of hidden states, un-rotated, by the layer's own projections."""
    batch, tokens, _ = hidden.shape
    if attention.q_proj is not None:
        q = attention.q_proj(hidden)
    else:
        q = attention.q_b_proj(attention.q_a_layernorm(attention.q_a_proj(hidden)))
    latent, k_pe = attention.kv_a_proj_with_mqa(hidden).split([LATENT, ROTARY], -1)
    return q.view(batch, tokens, HEADS, -1), k_pe[:, :, None], attention.kv_a_layernorm(latent)[:, :, None]


def theirs(attention, rotary, hidden, cache=None, start=0):
    """What transformers computes, causally, tokens from `start` on."""
    tokens = hidden.shape[1]
    places = torch.arange(start, start + tokens)
    mask = torch.where(places[:, None] >= torch.arange(start + tokens), 0.0, -torch.inf)[None, None]
    return attention(hidden, rotary(hidden, places[None]), mask, cache)[0]


@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("keys", ["unrotated", "rotated"])
@pytest.mark.parametrize("interleave", [True, False])
@pytest.mark.parametrize("chunks", [[20], [7, 6, 1, 1, 5]], ids=["whole", "chunked"])
@torch.no_grad()
def test_deepseek_v3s_attention_is_transformers(interleave, keys, projection, chunks):
    attention, rotary, group = layer(interleave)
    assert group.pairing == ("interleaved-in-half-out" if interleave else "half")
    hidden = torch.randn(2, 20, 64)
    expected = theirs(attention, rotary, hidden)
    cached, their_cache = [], DynamicCache()
    cache = LatentCache(group, Expansion.of(attention.kv_b_proj.weight, NOPE, VALUE), 2, keys=keys)
    made = []
    for chunk in hidden.split(chunks, 1):
        cached.append(theirs(attention, rotary, chunk, their_cache, int(cache.lengths[0])))
        q, k_pe, latent = parts(attention, chunk)
        cache.append(k_pe, latent)
        made.append(attention.o_proj(cache.attend(q, projection=projection).flatten(2)))
    size = expected.abs().max()
    assert (torch.cat(cached, 1) - expected).abs().max() < 1e-5 * size
    assert (torch.cat(made, 1) - expected).abs().max() < 1e-5 * size


@torch.no_grad()
def test_the_wrong_pairing_would_be_seen():
    attention, rotary, group = layer(True)
    hidden = torch.randn(1, 20, 64)
    q, k_pe, latent = parts(attention, hidden)
    cache = LatentCache(replace(group, pairing="half"), Expansion.of(attention.kv_b_proj.weight, NOPE, VALUE))
    cache.append(k_pe, latent)
    expected = theirs(attention, rotary, hidden)
    assert (attention.o_proj(cache.attend(q).flatten(2)) - expected).abs().max() > 1e-2 * expected.abs().max()


@torch.no_grad()
def test_a_layer_without_a_latent_of_queries_and_without_scaling():
    attention, rotary, group = layer(q_lora_rank=None, rope_parameters={"rope_type": "default", "rope_theta": 1e4})
    hidden = torch.randn(1, 9, 64)
    q, k_pe, latent = parts(attention, hidden)
    cache = LatentCache(group, Expansion.of(attention.kv_b_proj.weight, NOPE, VALUE))
    cache.append(k_pe, latent)
    torch.testing.assert_close(attention.o_proj(cache.attend(q).flatten(2)), theirs(attention, rotary, hidden))


def some(batch=2, tokens=12, dtype=torch.float32, seed=0):
    """Random q, k_pe, latent and expansion of one layer."""
    made = torch.Generator().manual_seed(seed)
    q = torch.randn(batch, tokens, HEADS, NOPE + ROTARY, generator=made, dtype=dtype)
    k_pe = torch.randn(batch, tokens, 1, ROTARY, generator=made, dtype=dtype)
    latent = torch.randn(batch, tokens, 1, LATENT, generator=made, dtype=dtype)
    kv_b = torch.randn(HEADS * (NOPE + VALUE), LATENT, generator=made, dtype=dtype) / 3
    return q, k_pe, latent, Expansion.of(kv_b, NOPE, VALUE)


def rope(pairing="half", stretch=None, heads=None):
    encoding = Rope(head_dim=NOPE + ROTARY, rotary_dim=ROTARY, part="last")
    return LayerGroup("full_attention", encoding, stretch, pairing=pairing, heads=heads)


def in_full(q, k_pe, latent, expansion, scale, causal=True):
    """Attention of one row as its formula says, in float64, a head and a query at a time; q and k_pe turned already."""
    q, k_pe, latent = (x.double() for x in (q, k_pe, latent))
    keys, values = expansion.key.double(), expansion.value.double()
    out = torch.zeros(q.shape[0], HEADS, VALUE, dtype=torch.float64)
    for head in range(HEADS):
        for query in range(q.shape[0]):
            seen = range(query + 1) if causal else range(latent.shape[0])
            logits = torch.stack(
                [
                    scale * (q[query, head, :NOPE] @ (keys[head] @ latent[j, 0]) + q[query, head, NOPE:] @ k_pe[j, 0])
                    for j in seen
                ]
            )
            weights = logits.softmax(0)
            out[query, head] = sum(weights[j] * (values[head] @ latent[j, 0]) for j in seen)
    return out


@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("scale", [None, 0.4])
def test_either_projection_is_the_formula(projection, scale):
    q, k_pe, latent, expansion = some(1, 7, torch.float64)
    expected = in_full(q[0], k_pe[0], latent[0], expansion, (NOPE + ROTARY) ** -0.5 if scale is None else scale)
    made = attend_latent(
        q,
        latent,
        k_pe,
        expansion,
        projection=projection,
        causal=True,
        **{} if scale is None else {"softmax_scale": scale},
    )
    torch.testing.assert_close(made[0], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("pairing", ["half", "interleaved", "interleaved-in-half-out"])
def test_both_projections_turn_inside_attend_alike(pairing):
    q, k_pe, latent, expansion = some(2, 12, torch.float64)
    cos, sin = map(torch.from_numpy, rope(pairing).table(range(12)))
    made = [
        attend_latent(q, latent, k_pe, expansion, projection=p, causal=True, cos=cos, sin=sin, pairing=pairing)
        for p in PROJECTIONS
    ]
    torch.testing.assert_close(made[0], made[1], rtol=0, atol=1e-12)
    cache = LatentCache(rope(pairing), expansion, 2)
    cache.append(k_pe, latent)
    torch.testing.assert_close(cache.attend(q), made[0], rtol=0, atol=2e-6)


def test_the_scale_is_that_of_a_head_not_of_what_is_absorbed():
    q, k_pe, latent, expansion = some(1, 8, torch.float64)
    right = attend_latent(q, latent, k_pe, expansion, projection="absorbed")
    wrong = attend_latent(q, latent, k_pe, expansion, projection="absorbed", softmax_scale=(LATENT + ROTARY) ** -0.5)
    assert (right - attend_latent(q, latent, k_pe, expansion, projection="plain")).abs().max() < 1e-12
    assert (right - wrong).abs().max() > 0.05


def spread_and_shift(turn_latent: bool):
    """How far content logits depend on distance, and how far an output moves when all positions move by 100."""
    q, k_pe, latent, expansion = some(1, 24, torch.float64)
    outs = []
    for start in (0, 100):
        cos, sin = map(torch.from_numpy, rope().table(range(start, start + 24)))
        q_pe, turned_pe = ordinate.ops.rotate(q[..., NOPE:].contiguous(), k_pe, cos, sin)
        absorbed = torch.einsum("bqhn,hnc->bqhc", q[..., :NOPE], expansion.key)
        kept = latent
        if turn_latent:  # as if [latent | k_pe] were one rotary key
            wide = LayerGroup("full_attention", Rope(head_dim=LATENT), pairing="half").table(range(start, start + 24))
            absorbed, kept = ordinate.ops.rotate(absorbed, latent, *map(torch.from_numpy, wide))
        scale = (NOPE + ROTARY) ** -0.5
        k = torch.cat([kept, turned_pe], -1)
        mixed = ordinate.ops.attend(
            torch.cat([absorbed, q_pe], -1), k, k[..., :LATENT], causal=True, softmax_scale=scale
        )
        outs.append(torch.einsum("bqhc,hvc->bqhv", mixed, expansion.value))
    # The same query and the same latent at every distance.
    same = torch.einsum("bqhn,hnc->bqhc", q[:, :1, :, :NOPE], expansion.key).expand(-1, 24, -1, -1)
    one = latent[:, :1].expand(-1, 24, -1, -1)
    if turn_latent:
        table = map(torch.from_numpy, LayerGroup("full_attention", Rope(head_dim=LATENT)).table(range(24)))
        one = ordinate.ops.rotate(None, one.contiguous(), *table)[1]
    content = scale * (same * one).sum(-1)
    return float((content.amax(1) - content.amin(1)).max()), float((outs[0] - outs[1]).abs().max()), outs[0]


def test_a_latent_that_is_turned_breaks_what_position_means():
    """Content logits must not depend on distance, nor outputs on where the text begins; turned, both do, by units."""
    spread, moved, right = spread_and_shift(False)
    assert spread < 1e-12
    assert moved < 1e-6  # float32 tables
    q, k_pe, latent, expansion = some(1, 24, torch.float64)
    cos, sin = map(torch.from_numpy, rope().table(range(24)))
    plain = attend_latent(q, latent, k_pe, expansion, projection="plain", causal=True, cos=cos, sin=sin)
    torch.testing.assert_close(plain, right, rtol=0, atol=1e-6)
    spread, moved, wrong = spread_and_shift(True)
    assert spread > 1
    assert moved > 1
    assert (wrong - plain).abs().max() > 1


def test_no_query_absorbs_a_rotation_of_heads():
    """Keys of heads that turn after W_UK are no turned latents: no matrix commutes with all rotations."""
    _, _, latent, expansion = some(1, 1, torch.float64)
    head = expansion.key[0]
    cos, sin = map(torch.from_numpy, LayerGroup("full_attention", Rope(head_dim=NOPE)).table(range(2)))
    keys = (head @ latent[0, 0, 0]).expand(1, 2, 1, NOPE)
    turned = ordinate.ops.rotate(None, keys.contiguous(), cos, sin)[1]
    cos, sin = map(torch.from_numpy, LayerGroup("full_attention", Rope(head_dim=LATENT)).table(range(2)))
    latents = ordinate.ops.rotate(None, latent.expand(1, 2, 1, LATENT).contiguous(), cos, sin)[1]
    instead = torch.einsum("btxc,nc->btxn", latents, head)
    assert (turned[:, 0] - instead[:, 0]).abs().max() < 1e-12
    assert (turned[:, 1] - instead[:, 1]).norm() > 0.5 * turned[:, 1].norm()


def reference(group, q, k_pe, latent, expansion, positions, query_positions):
    """One row's attention with all turned at once, in float64: [query, heads, value]."""
    cos, sin = group.table(positions.numpy())
    turned = ordinate.ops.rotate(
        None, k_pe.double(), torch.from_numpy(cos), torch.from_numpy(sin), pairing=group.pairing
    )[1]
    cos, sin = group.table(query_positions.numpy())
    q_pe = ordinate.ops.rotate(
        q[..., NOPE:].double(), None, torch.from_numpy(cos), torch.from_numpy(sin), pairing=group.pairing
    )[0]
    return attend_latent(
        torch.cat([q[..., :NOPE].double(), q_pe], -1),
        latent.double(),
        turned,
        Expansion(expansion.key.double(), expansion.value.double()),
        projection="plain",
        causal=True,
        query_positions=query_positions[None],
        key_positions=positions[None],
    )[0]


@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("keys", ["unrotated", "rotated"])
@pytest.mark.parametrize("layout", [None, Paged(pages=24, page_size=4)], ids=["dense", "paged"])
def test_operations_turn_the_rotary_key_alone(layout, keys, projection):
    q, k_pe, latent, expansion = some(2, 20)
    group = rope("interleaved")
    cache = LatentCache(group, expansion, 2, keys=keys, layout=layout)
    cache.append(k_pe[:, :16], latent[:, :16])
    before = cache.fork()
    cache.crop([14, 16])
    cache.shift(5, keep_first=2)
    cache.reorder([1, 0, 1])
    other = replace(group, encoding=Rope(head_dim=18, rotary_dim=ROTARY, part="last", base=500.0))
    cache.rebase(other)
    assert cache.lengths.tolist() == [11, 9, 11]
    last = q[[1, 0, 1], 16:17]
    cache.append(k_pe[[1, 0, 1], 16:17], latent[[1, 0, 1], 16:17])
    made = cache.attend(last, projection=projection)
    for row, (source, end) in enumerate(((1, 16), (0, 14), (1, 16))):
        stay = torch.tensor([0, 1, *range(7, end), 16])
        at = torch.arange(len(stay))
        expected = reference(
            other,
            last[row : row + 1],
            k_pe[source : source + 1, stay],
            latent[source : source + 1, stay],
            expansion,
            at,
            at[-1:],
        )
        assert (made[row] - expected).abs().max() < 2e-5
    # The latents are those that came, bit for bit.
    held = cache.positions[0] >= 0
    kept = cache.values()[0][held][cache.positions[0][held].argsort()]
    assert torch.equal(kept, latent[1, [0, 1, *range(7, 17)]])
    # And what was forked has not changed.
    before.append(k_pe[:, 16:17], latent[:, 16:17])
    made = before.attend(q[:, 16:17], projection=projection)
    at = torch.arange(17)
    expected = reference(group, q[:1, 16:17], k_pe[:1, :17], latent[:1, :17], expansion, at, at[-1:])
    assert (made[0] - expected).abs().max() < 2e-5


@pytest.mark.parametrize("sinks", [0, 3])
@pytest.mark.parametrize("keys", ["unrotated", "rotated"])
def test_shifts_in_a_row_while_tokens_come(keys, sinks):
    q, k_pe, latent, expansion = some(1, 40)
    group, stay = rope("interleaved"), list(range(12))
    cache = LatentCache(group, expansion, keys=keys)
    cache.append(k_pe[:, :12], latent[:, :12])
    for token in range(12, 40):
        cache.shift(1, keep_first=sinks)
        cache.append(k_pe[:, token : token + 1], latent[:, token : token + 1])
        del stay[sinks]
        stay.append(token)
        made = cache.attend(q[:, token : token + 1])
        at = torch.arange(12)
        expected = reference(group, q[:, token : token + 1], k_pe[:, stay], latent[:, stay], expansion, at, at[-1:])
        assert (made[0] - expected).abs().max() < 2e-5


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_a_ring_of_latents_sees_its_window_and_sinks(projection):
    q, k_pe, latent, expansion = some(1, 30)
    group = rope()
    cache = LatentCache(group, expansion, layout=Ring(window=6, keep_first=2))
    for token in range(30):
        cache.append(k_pe[:, token : token + 1], latent[:, token : token + 1])
        made = cache.attend(q[:, token : token + 1], projection=projection)
        seen = torch.tensor(sorted({0, 1, *range(token - 5, token + 1)} & set(range(token + 1))))
        expected = reference(group, q[:, token : token + 1], k_pe[:, seen], latent[:, seen], expansion, seen, seen[-1:])
        assert (made[0] - expected).abs().max() < 1e-5


@pytest.mark.parametrize("keys", ["unrotated", "rotated"])
def test_rows_under_dynamic_ntk_are_turned_each_by_its_own_length(keys):
    q, k_pe, latent, expansion = some(1, 24)
    stretch = DynamicNtk(2.0, window=16)
    group = rope(stretch=stretch)
    whole = LatentCache(group, expansion, keys=keys, regime=PerRow())
    whole.append(k_pe, latent)
    together = whole.attend(q)
    for row in (3, 15, 16, 23):
        at = torch.arange(row + 1)
        cos, sin = map(torch.from_numpy, group.table(at.numpy(), row + 1))
        q_pe, turned = ordinate.ops.rotate(q[:, : row + 1, :, NOPE:].contiguous(), k_pe[:, : row + 1], cos, sin)
        turned_q = torch.cat([q[:, : row + 1, :, :NOPE], q_pe], -1)
        expected = attend_latent(turned_q, latent[:, : row + 1], turned, expansion, projection="plain", causal=True)
        assert (together[:, row] - expected[:, row]).abs().max() < 1e-5
    frozen = LatentCache(group, expansion, keys=keys, regime=Frozen(24))
    frozen.append(k_pe, latent)
    assert (frozen.attend(q)[:, 5] - together[:, 5]).abs().max() > 1e-4
    assert (frozen.attend(q)[:, 23] - together[:, 23]).abs().max() < 1e-5


def test_padded_rows_hold_nothing_and_queries_that_are_none_give_zero():
    q, k_pe, latent, expansion = some(2, 6)
    at = torch.tensor([[-1, -1, 0, 1, 2, 3], [0, 1, 2, 3, 4, 5]])
    cache = LatentCache(rope(), expansion, 2)
    cache.append(k_pe, latent, at)
    made = cache.attend(q)
    assert cache.lengths.tolist() == [4, 6]
    assert (made[0, :2] == 0).all()
    alone = LatentCache(rope(), expansion)
    alone.append(k_pe[:1, 2:], latent[:1, 2:])
    torch.testing.assert_close(made[:1, 2:], alone.attend(q[:1, 2:]), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", storages())
def test_a_stored_latent_errs_as_its_storage_says(name):
    q, k_pe, latent, expansion = some(1, 12)
    cache = LatentCache(rope(), expansion, storage=name)
    cache.append(k_pe, latent)
    assert (cache.values()[0, :12].double() - latent[0].double()).abs().le(storage(name).bound(latent[0])).all()
    assert (cache.keys("unrotated")[0, :12].double() - k_pe[0].double()).abs().le(storage(name).bound(k_pe[0])).all()
    kept = storage(name)
    rounded = [kept.decode(kept.encode(x)) for x in (k_pe, latent)]
    exact = LatentCache(rope(), expansion)
    exact.append(*rounded)
    torch.testing.assert_close(cache.attend(q), exact.attend(q), rtol=0, atol=1e-6)


def test_bytes_of_deepseek_v3_are_one_latent_and_one_rotary_key_for_128_heads():
    shape = Heads(128, 128, 192, 128, latent_dim=512, rotary_key_dim=64)
    group = LayerGroup("full_attention", Rope(head_dim=192, rotary_dim=64, part="last"), heads=shape)
    expansion = Expansion.of(torch.zeros(128 * 256, 512), 128, 128)
    counted = {name: LatentCache(group, expansion, storage=name).bytes_per_token() for name in storages()}
    assert counted == {"float32": 2304, "bfloat16": 1152, "float16": 1152, "int8": 648, "fp8": 648, "int4": 360}


def test_memory_holds_what_bytes_per_token_says():
    _, k_pe, latent, expansion = some(2, 16)
    cache = LatentCache(rope(), expansion, 2, storage="int4")
    cache.append(k_pe, latent)
    assert cache.bytes == 2 * 16 * cache.bytes_per_token()


@pytest.mark.parametrize("projection", PROJECTIONS)
@torch.no_grad()
def test_deepseek_v2s_attention_is_transformers(projection):
    torch.manual_seed(0)
    config = DeepseekV2Config(**SHAPE | {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4}})
    attention = modeling_deepseek_v2.DeepseekV2Attention(config, 0).eval()
    rotary, group = modeling_deepseek_v2.DeepseekV2RotaryEmbedding(config), ordinate.read(config.to_dict()).group
    hidden = torch.randn(1, 14, 64)
    places = torch.arange(14)
    mask = torch.where(places[:, None] >= places, 0.0, -torch.inf)[None, None]
    expected = attention(hidden, mask, position_embeddings=rotary(hidden, places[None]))[0]
    q = attention.q_b_proj(attention.q_a_layernorm(attention.q_a_proj(hidden))).view(1, 14, HEADS, -1)
    latent, k_pe = attention.kv_a_proj_with_mqa(hidden).split([LATENT, ROTARY], -1)
    cache = LatentCache(group, Expansion.of(attention.kv_b_proj.weight, NOPE, VALUE))
    cache.append(k_pe[:, :, None], attention.kv_a_layernorm(latent)[:, :, None])
    torch.testing.assert_close(attention.o_proj(cache.attend(q, projection=projection).flatten(2)), expected)


def test_what_does_not_fit_is_refused():
    q, k_pe, latent, expansion = some(1, 4)
    with pytest.raises(InputError, match=r"q must be \[batch, query, 4, 18\], got \[1, 4, 4, 17\]"):
        attend_latent(q[..., 1:], latent, k_pe, expansion)
    with pytest.raises(InputError, match=r"latent must be \[1, 4, 1, 24\], got \[1, 3, 1, 24\]"):
        attend_latent(q, latent[:, :3], k_pe, expansion)
    with pytest.raises(InputError, match=r"dtype of the expansion, torch\.float32, got torch\.bfloat16"):
        attend_latent(q, latent.bfloat16(), k_pe, expansion)
    with pytest.raises(InputError, match="projection must be one of plain, absorbed, got 'both'"):
        attend_latent(q, latent, k_pe, expansion, projection="both")
    with pytest.raises(InputError, match="part must not be given"):
        attend_latent(q, latent, k_pe, expansion, part="first")
    with pytest.raises(InputError, match=r"kv_b must be \[heads \* 22, latent_dim\], got \[23, 24\]"):
        Expansion.of(torch.zeros(23, 24), NOPE, VALUE)
    with pytest.raises(InputError, match="alike but for channels"):
        Expansion(torch.zeros(2, 3, 4), torch.zeros(2, 3, 5))
    with pytest.raises(InputError, match="one dtype"):
        Expansion(torch.zeros(2, 3, 4), torch.zeros(2, 3, 4).half())
    with pytest.raises(InputError, match="the group's 8 heads, got 4"):
        LatentCache(rope(heads=Heads(8, 8, 18, 12, latent_dim=24, rotary_key_dim=8)), expansion)
    with pytest.raises(InputError, match="must have entries"):
        LatentCache(rope(), expansion).attend(q[:, :1], torch.arange(1), causal=False)
    cache = LatentCache(rope(stretch=Abf(20000.0)), expansion)
    cache.append(k_pe, latent)
    with pytest.raises(InputError, match="learned must be None, got"):
        cache.attend(q, learned={"weight": q})
