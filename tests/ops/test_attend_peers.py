"""`attend` against attention that others run."""

import warnings

import pytest
import torch
from attend_calls import backends
from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention
from transformers import BloomConfig, GptOssConfig, T5Config
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.gpt_oss import modeling_gpt_oss
from transformers.models.t5.modeling_t5 import T5Attention

from ordinate.ops import attend
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.t5 import T5

BACKENDS = pytest.mark.parametrize("backend", backends())


def drawn(dtype=torch.float32, queries=40, keys=57):
    torch.manual_seed(queries)
    return [torch.randn(2, n, heads, 32).to(dtype) for n, heads in ((queries, 6), (keys, 2), (keys, 2))]


def sdpa(q, k, v, **options):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True, **options).transpose(1, 2)


@BACKENDS
@pytest.mark.parametrize("dtype, near", [(torch.float32, 2e-6), (torch.bfloat16, 0.02), (torch.float16, 3e-3)])
def test_it_is_scaled_dot_product_attention(backend, dtype, near):
    q, k, v = drawn(dtype)
    assert torch.allclose(attend(q, k, v, backend=backend), sdpa(q, k, v), rtol=0, atol=near)
    causal = torch.ones(40, 57, dtype=torch.bool).tril(17)
    right = sdpa(q, k, v, attn_mask=causal, scale=0.3)
    assert torch.allclose(attend(q, k, v, causal=True, softmax_scale=0.3, backend=backend), right, rtol=0, atol=near)


@pytest.mark.parametrize("backend, learned", [*((name, False) for name in backends()), ("eager", True), ("auto", True)])
def test_its_gradients_are_those_of_scaled_dot_product_attention(backend, learned):
    causal = torch.ones(40, 57, dtype=torch.bool).tril(17)
    upstream, bias = torch.randn(2, 40, 6, 32), torch.randn(2, 6, 40, 57)
    made = []
    for function in (
        lambda q, k, v, b=bias: attend(q, k, v, causal=True, bias=b, backend=backend),
        lambda q, k, v, b=bias: sdpa(q, k, v, attn_mask=b.masked_fill(~causal, -torch.inf)),
    ):
        leaves = [x.clone().requires_grad_() for x in (*drawn(), *([bias] if learned else []))]
        made.append(torch.autograd.grad(function(*leaves), leaves, upstream))
    for ours, theirs in zip(*made, strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@BACKENDS
def test_a_window_is_flex_attentions(backend):
    q, k, v = drawn(queries=57)
    softcap, window = 5.0, 12

    def seen(b, h, query, key):
        del b, h
        return (key <= query) & ((key >= query - window) | (key < 2))

    def capped(score, *_):
        return softcap * torch.tanh(score / softcap)

    block_mask = create_block_mask(seen, 2, None, 57, 57, device="cpu")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
        theirs, also = flex_attention(
            *(x.transpose(1, 2) for x in (q, k, v)),
            capped,
            block_mask,
            enable_gqa=True,
            return_aux=AuxRequest(lse=True),
        )
    options = {"causal": True, "window": (window, None), "keep_first": 2, "softcap": softcap, "return_lse": True}
    out, logarithms = attend(q, k, v, **options, backend=backend)
    assert torch.allclose(out, theirs.transpose(1, 2), rtol=0, atol=2e-6)
    assert torch.allclose(logarithms, also.lse, rtol=0, atol=4e-6)


@BACKENDS
def test_alibi_is_blooms(backend):
    config = BloomConfig(n_head=6)
    q, k, v = drawn(queries=57)
    alibi = build_alibi_tensor(torch.ones(2, 57), config.n_head, torch.float32).view(2, 6, 1, 57)
    causal = torch.zeros(57, 57).masked_fill(~torch.ones(57, 57, dtype=torch.bool).tril(), -torch.inf)
    slopes = torch.from_numpy(Alibi(heads=6).slopes).float()
    out = attend(q, k, v, causal=True, slopes=slopes, backend=backend)
    assert torch.allclose(out, sdpa(q, k, v, attn_mask=alibi + causal), rtol=0, atol=4e-6)


@BACKENDS
def test_a_table_is_t5s(backend):
    config = T5Config(d_model=48, d_kv=8, num_heads=6, is_decoder=False)
    module = T5Attention(config, has_relative_attention_bias=True).eval()
    hidden = torch.randn(2, 200, 48)
    theirs = module(hidden)[0]
    scheme = T5(heads=6, buckets=32, max_distance=128)
    table = scheme.by_distance(
        torch.arange(128, -129, -1).numpy(), {"table": module.relative_attention_bias.weight}, torch
    )
    q, k, v = (getattr(module, name)(hidden).view(2, 200, 6, 8) for name in "qkv")
    out = attend(q, k, v, softmax_scale=1.0, by_distance=table, reach=128, backend=backend)
    assert torch.allclose(module.o(out.flatten(2)), theirs, rtol=0, atol=2e-5)


@BACKENDS
def test_sinks_are_gpt_osss(backend):
    config = GptOssConfig(
        hidden_size=96, head_dim=32, num_attention_heads=6, num_key_value_heads=2, num_hidden_layers=1
    )
    module = modeling_gpt_oss.GptOssAttention(config, layer_idx=0).eval()
    q, k, v = drawn(queries=57)
    sinks = torch.randn(6)
    module.sinks.data = sinks
    causal = torch.zeros(57, 57).masked_fill(~torch.ones(57, 57, dtype=torch.bool).tril(), -torch.inf)
    theirs, _ = modeling_gpt_oss.eager_attention_forward(
        module, *(x.transpose(1, 2) for x in (q, k, v)), causal[None, None], scaling=32**-0.5
    )
    out = attend(q, k, v, causal=True, sink_logits=sinks, backend=backend)
    assert torch.allclose(out, theirs, rtol=0, atol=2e-6)
