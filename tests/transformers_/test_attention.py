"""Attention by `ordinate.ops.attend` in transformers: against the softmax written out, and transformers' own."""

from types import SimpleNamespace

import pytest
import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import (
    causal_mask_function,
    chunked_causal_mask_function,
    sdpa_mask,
    sliding_window_causal_mask_function,
)

from ordinate.errors import InputError
from ordinate.transformers import attention


def written_out(query, key, value, scaling, mask, *, softcap=None, sinks=None, bias=None):
    """float64 softmax over what the mask shows; [batch, queries, heads, head_dim]."""
    query, key, value = (x.double() for x in (query, key, value))
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    logits = query @ key.mT * scaling
    if softcap is not None:
        logits = softcap * torch.tanh(logits / softcap)
    if bias is not None:
        logits = logits + bias
    logits = logits.masked_fill(~mask, -torch.inf)
    if sinks is not None:
        more = sinks.double()[None, :, None, None].expand(*logits.shape[:3], 1)
        return (torch.cat([logits, more], -1).softmax(-1)[..., :-1] @ value).transpose(1, 2)
    return (logits.softmax(-1) @ value).transpose(1, 2)


def layer(**settings):
    return SimpleNamespace(is_causal=True, **settings)


def drawn(batch, heads, shared, queries, keys, dim, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        # As a model has them: [batch, tokens, heads, head_dim] seen through a transposition.
        return torch.randn(*shape, generator=generator).to(dtype).transpose(1, 2)

    return draw(batch, queries, heads, dim), draw(batch, keys, shared, dim), draw(batch, keys, shared, dim)


def triangle(queries, keys, reach=None):
    seen = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    return seen if reach is None else seen.triu(keys - queries - reach + 1)


def close(found, expected):
    # float32 rounds logits, which go up to 20.
    return torch.allclose(found.double(), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("batch, heads, shared", [(1, 9, 3), (2, 4, 4), (1, 6, 1)])
@pytest.mark.parametrize("queries, keys", [(2, 3), (5, 300), (64, 65), (300, 301), (1, 40), (33, 33)])
@torch.inference_mode()
def test_it_is_the_causal_softmax(batch, heads, shared, queries, keys):
    q, k, v = drawn(batch, heads, shared, queries, keys, 16)
    for scaling in (0.25, 1.0):
        found, weights = attention.attend(layer(), q, k, v, None, scaling=scaling)
        assert weights is None
        assert found.shape == (batch, queries, heads, 16)
        assert close(found, written_out(q, k, v, scaling, triangle(queries, keys)))


@torch.inference_mode()
def test_softcap_sinks_bias_and_masks_count():
    q, k, v = drawn(2, 4, 2, 3, 8, 8)
    generator = torch.Generator().manual_seed(1)
    bias, sinks = torch.randn(1, 4, 3, 8, generator=generator), torch.randn(4, generator=generator)
    mask = torch.rand(2, 1, 3, 8, generator=generator) > 0.4
    mask[..., 0] = True
    causal = triangle(3, 8)
    for options, expected in (
        ({"softcap": 0.7}, written_out(q, k, v, 0.5, causal, softcap=0.7)),
        ({"s_aux": sinks.bfloat16()}, written_out(q, k, v, 0.5, causal, sinks=sinks.bfloat16())),
        ({"position_bias": bias}, written_out(q, k, v, 0.5, causal, bias=bias)),
        ({"attention_mask": mask}, written_out(q, k, v, 0.5, mask)),
        ({"attention_mask": torch.where(mask, bias, torch.finfo().min)}, written_out(q, k, v, 0.5, mask, bias=bias)),
        ({"attention_mask": mask, "position_bias": bias}, written_out(q, k, v, 0.5, mask, bias=bias)),
        ({"is_causal": False}, written_out(q, k, v, 0.5, torch.ones(3, 8, dtype=torch.bool))),
    ):
        found, _ = attention.attend(layer(), q, k, v, **{"attention_mask": None, "scaling": 0.5} | options)
        assert close(found, expected), options
    found, _ = attention.attend(layer(), q, k, v[..., :3], None, scaling=0.5)
    assert close(found, written_out(q, k, v[..., :3], 0.5, causal))


def test_gradients_are_those_of_the_softmax():
    q, k, v = (x.requires_grad_() for x in drawn(2, 2, 1, 3, 8, 4, dtype=torch.float64))
    found, _ = attention.attend(layer(), q, k, v, None, scaling=0.5)
    expected = written_out(q, k, v, 0.5, triangle(3, 8))
    weight = torch.randn_like(expected)
    ours = torch.autograd.grad((found * weight).sum(), (q, k, v))
    theirs = torch.autograd.grad((expected * weight).sum(), (q, k, v))
    assert all(torch.allclose(a, b) for a, b in zip(ours, theirs, strict=True))


def made(**settings):
    base = {"batch_size": 1, "q_length": 3, "kv_length": 8, "q_offset": 5, "mask_function": causal_mask_function}
    return attention.mask(**(base | settings))


PADDED = torch.tensor([[1, 1, 1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1, 1, 1]]) > 0
WINDOW = {"local_size": 4, "mask_function": sliding_window_causal_mask_function(4)}
CASES = {
    "plain": {},
    "nothing padded": {"attention_mask": PADDED[:1]},
    "padded": {"attention_mask": PADDED, "batch_size": 3},
    "a static cache": {"kv_length": 12},
    "a static cache, its length a tensor": {"kv_length": 12, "q_offset": torch.tensor(5)},
    "a padded static cache": {"kv_length": 12, "attention_mask": PADDED, "batch_size": 3},
    "one query of a static cache": {"kv_length": 12, "q_length": 1, "q_offset": 7, "allow_is_causal_skip": False},
    "one query of a padded static cache": {
        "kv_length": 12,
        "q_length": 1,
        "q_offset": 7,
        "allow_is_causal_skip": False,
        "attention_mask": PADDED,
        "batch_size": 3,
    },
    "a window": WINDOW,
    "a window wider than the keys": {"local_size": 8, "mask_function": sliding_window_causal_mask_function(8)},
    "a window over a padded cache": WINDOW | {"attention_mask": PADDED, "batch_size": 3},
    "a window and a cache of its size": WINDOW | {"kv_length": 6, "kv_offset": 2},
    "chunks": {"local_size": 4, "mask_function": chunked_causal_mask_function(4, torch.zeros(1, dtype=torch.int64))},
    "a pattern of its own": {"mask_function": lambda _b, _h, q, k: k % 2 == q % 2, "allow_is_causal_skip": False},
    "both ways": {
        "mask_function": lambda _b, _h, q, k: q + k >= 0,
        "allow_is_causal_skip": False,
        "allow_is_bidirectional_skip": False,
    },
}


@pytest.mark.parametrize("name", CASES)
@torch.inference_mode()
def test_what_a_mask_leaves_out_follows_from_order_and_padding(name):
    settings = {"batch_size": 1, "q_length": 3, "kv_length": 8, "q_offset": 5, "mask_function": causal_mask_function}
    settings |= CASES[name]
    # No layer of a model with chunks has a sliding window.
    config = SimpleNamespace(sliding_window=None if name == "chunks" else settings.get("local_size"))
    full = sdpa_mask(**settings | {"allow_is_causal_skip": False})
    q, k, v = drawn(settings["batch_size"], 4, 2, settings["q_length"], settings["kv_length"], 8)
    found, _ = attention.attend(layer(config=config), q, k, v, attention.mask(**settings, config=config), scaling=0.5)
    assert close(found, written_out(q, k, v, 0.5, full))


@pytest.mark.parametrize(
    "name", [name for name in CASES if name not in ("chunks", "a pattern of its own", "both ways")]
)
def test_no_mask_of_queries_times_keys_is_made(name):
    found = attention.mask(
        **{"batch_size": 1, "q_length": 3, "kv_length": 8, "q_offset": 5, "mask_function": causal_mask_function}
        | CASES[name],
        config=SimpleNamespace(sliding_window=CASES[name].get("local_size")),
    )
    assert found is None or found.shape[2] == 1
    if name in ("plain", "nothing padded", "a window wider than the keys"):
        assert found is None


def test_while_torch_compiles_the_whole_mask_is_made(monkeypatch):
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert torch.equal(made()[0, 0], triangle(3, 8))


def test_what_cannot_be_computed_is_refused():
    q, k, v = drawn(1, 2, 1, 3, 8, 4)
    with pytest.raises(InputError, match=r"has no dropout: attention_dropout must be 0, got 0\.1"):
        attention.attend(layer(), q, k, v, None, dropout=0.1)
    with pytest.raises(InputError, match="holds no weights: output_attentions must be False, got True"):
        attention.attend(layer(), q, k, v, None, output_attentions=True)
    bounded = made(**WINDOW, config=SimpleNamespace(sliding_window=4))
    with pytest.raises(InputError, match="SimpleNamespace must hand its sliding_window to the attention, got None"):
        attention.attend(layer(), q, k, v, bounded)


def test_registering_changes_no_other_implementation():
    for interface, own in ((AttentionInterface, attention.attend), (AttentionMaskInterface, attention.mask)):
        before = dict(interface._global_mapping)
        attention.register()
        after = dict(interface._global_mapping)
        assert after.pop(attention.NAME) is own
        before.pop(attention.NAME, None)
        assert after == before
