"""Attention in two parts: against the softmax written out, and transformers' own implementations."""

from types import SimpleNamespace

import pytest
import torch
from transformers import AttentionInterface, DynamicCache, MistralConfig, MistralForCausalLM
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import causal_mask_function

from ordinate.transformers import attention


def written_out(query, key, value, scaling, mask=None):
    """float64 softmax of every query over all keys up to its own; [batch, queries, heads, head_dim]."""
    query, key, value = (x.double() for x in (query, key, value))
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    logits = query @ key.mT * scaling
    queries, keys = logits.shape[-2:]
    seen = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries) if mask is None else mask
    return (logits.masked_fill(~seen, -torch.inf).softmax(-1) @ value).transpose(1, 2)


def layer(groups=1):
    return SimpleNamespace(num_key_value_groups=groups, is_causal=True)


def drawn(batch, heads, shared, queries, keys, dim, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        # As a model has them: [batch, tokens, heads, head_dim] seen through a transposition.
        return torch.randn(*shape, generator=generator).to(dtype).transpose(1, 2)

    return draw(batch, queries, heads, dim), draw(batch, keys, shared, dim), draw(batch, keys, shared, dim)


@pytest.mark.parametrize("batch, heads, shared", [(1, 9, 3), (2, 4, 4), (1, 6, 1)])
@pytest.mark.parametrize("queries, keys", [(2, 3), (5, 300), (64, 65), (300, 301), (257, 1000), (1, 40), (33, 33)])
@torch.inference_mode()
def test_it_is_the_softmax_over_past_and_own(batch, heads, shared, queries, keys):
    q, k, v = drawn(batch, heads, shared, queries, keys, 16)
    for scaling in (0.25, 3.0):
        found, weights = attention.attend(layer(heads // shared), q, k, v, None, scaling=scaling)
        assert weights is None
        assert found.shape == (batch, queries, heads, 16)
        mask = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)[None, None]
        masked, _ = sdpa_attention_forward(layer(heads // shared), q, k, v, mask, scaling=scaling)
        expected = written_out(q, k, v, scaling)
        # float32 rounds large logits: no worse than the masked way does.
        assert (found - expected).abs().max() <= 2 * (masked - expected).abs().max() + 1e-6


@torch.inference_mode()
def test_logits_of_a_hundred_overflow_nothing():
    q, k, v = drawn(1, 2, 1, 7, 50, 8)
    q = q * 40
    for shift in (-30.0, 30.0):
        # Either part can hold all the weight.
        shifted = k.clone()
        shifted[:, :, :43] += shift
        found, _ = attention.attend(layer(2), q, shifted, v, None, scaling=1.0)
        assert torch.allclose(found.double(), written_out(q, shifted, v, 1.0), rtol=0, atol=1e-3)


@torch.inference_mode()
def test_the_future_of_the_chunk_is_not_seen():
    q, k, v = drawn(1, 2, 2, 6, 20, 8)
    before, _ = attention.attend(layer(), q, k, v, None, scaling=1.0)
    k[:, :, 17], v[:, :, 17] = 5.0, 1e6
    after, _ = attention.attend(layer(), q, k, v, None, scaling=1.0)
    # Query 3 stands at place 17.
    assert torch.equal(before[:, :3], after[:, :3])
    assert (before[:, 3:] != after[:, 3:]).all()


def test_gradients_are_right_because_the_slow_way_is_taken():
    q, k, v = (x.double().requires_grad_() for x in drawn(1, 2, 1, 3, 8, 4))
    found, _ = attention.attend(layer(2), q, k, v, None, scaling=0.5)
    expected = written_out(q, k, v, 0.5)
    assert torch.allclose(found, expected)
    weight = torch.randn_like(expected)
    ours = torch.autograd.grad((found * weight).sum(), (q, k, v))
    theirs = torch.autograd.grad((expected * weight).sum(), (q, k, v))
    assert all(torch.allclose(a, b) for a, b in zip(ours, theirs, strict=True))


@torch.inference_mode()
def test_a_mask_that_is_given_counts():
    q, k, v = drawn(1, 2, 1, 3, 8, 4)
    mask = torch.rand(3, 8, generator=torch.Generator().manual_seed(1)) > 0.4
    mask[:, 0] = True
    found, _ = attention.attend(layer(2), q, k, v, mask[None, None], scaling=0.5)
    assert torch.allclose(found.double(), written_out(q, k, v, 0.5, mask), rtol=0, atol=1e-6)


@torch.inference_mode()
def test_a_bias_on_logits_counts():
    q, k, v = drawn(1, 2, 2, 3, 8, 4)
    bias = torch.randn(1, 2, 3, 8, generator=torch.Generator().manual_seed(1))
    found, _ = attention.attend(layer(), q, k, v, None, scaling=0.5, position_bias=bias)
    logits = (q @ k.mT * 0.5 + bias).masked_fill(~torch.ones(3, 8, dtype=torch.bool).tril(5), -torch.inf)
    assert torch.allclose(found, (logits.softmax(-1) @ v).transpose(1, 2), rtol=0, atol=1e-6)


@torch.inference_mode()
def test_values_may_be_narrower_than_keys():
    q, k, v = drawn(1, 2, 1, 3, 8, 4)
    found, _ = attention.attend(layer(2), q, k, v[..., :3], None, scaling=0.5)
    assert torch.allclose(found.double(), written_out(q, k, v[..., :3], 0.5), rtol=0, atol=1e-6)


@torch.inference_mode()
def test_attention_that_is_not_causal_sees_everything():
    q, k, v = drawn(1, 2, 2, 3, 8, 4)
    found, _ = attention.attend(layer(), q, k, v, None, scaling=0.5, is_causal=False)
    assert torch.allclose(found.double(), written_out(q, k, v, 0.5, torch.ones(3, 8, dtype=torch.bool)), atol=1e-6)


def test_the_mask_is_left_out_only_where_every_query_sees_all_before_it():
    def made(**settings):
        base = {"batch_size": 1, "q_length": 3, "kv_length": 8, "q_offset": 5, "mask_function": causal_mask_function}
        return attention.mask(**(base | settings))

    there = torch.ones(1, 8, dtype=torch.bool)
    assert made() is None
    assert made(attention_mask=there) is None
    assert made(local_size=9) is None
    padded = there.clone()
    padded[0, 0] = False
    expected = torch.ones(3, 8, dtype=torch.bool).tril(5)
    assert torch.equal(made(allow_is_causal_skip=False)[0, 0], expected)
    assert torch.equal(made(attention_mask=padded)[0, 0], expected & padded)
    assert made(local_size=4) is not None
    # Keys past the last query: a cache of fixed size.
    assert made(kv_length=12) is not None


def test_registering_changes_no_other_implementation():
    before = dict(AttentionInterface._global_mapping)
    attention.register()
    after = dict(AttentionInterface._global_mapping)
    assert after.pop(attention.NAME) is attention.attend
    before.pop(attention.NAME, None)
    assert after == before


@torch.inference_mode()
def test_a_sliding_window_is_kept_over_chunks():
    attention.register()
    torch.manual_seed(0)
    config = MistralConfig(
        vocab_size=50,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        sliding_window=6,
        initializer_range=0.4,
        pad_token_id=None,
    )
    model = MistralForCausalLM(config).eval()
    ids = torch.randint(0, 50, (1, 24))
    model.set_attn_implementation("eager")
    expected = model(input_ids=ids).logits
    model.set_attn_implementation(attention.NAME)
    cache = DynamicCache(config=model.config)
    found = torch.cat([model(input_ids=part, cache=cache).logits for part in ids.split(5, dim=1)], 1)
    assert torch.allclose(found, expected, rtol=0, atol=1e-5)
