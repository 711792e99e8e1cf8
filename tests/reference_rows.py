"""The row-wise pass, without Ordinate: each query and its keys turned by the length of the text up to that query."""

import copy
import math
import sys
from contextlib import contextmanager

import torch
from torch.nn.functional import silu
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb


def llama_rows(model, ids, positions=None):
    """Logits of a Llama in plain torch: [tokens, vocabulary]; token j stands at j where no positions are given."""
    positions = torch.arange(len(ids)) if positions is None else positions
    config, weights = model.config, dict(model.named_parameters())
    heads, kv_heads, dim = config.num_attention_heads, config.num_key_value_heads, config.head_dim

    def linear(name, x):
        return x @ weights[f"{name}.weight"].T

    def norm(name, x):
        return x * (x.pow(2).mean(-1, keepdim=True) + config.rms_norm_eps).rsqrt() * weights[f"{name}.weight"]

    x = weights["model.embed_tokens.weight"][ids]
    for layer in range(config.num_hidden_layers):
        here = f"model.layers.{layer}"
        y = norm(f"{here}.input_layernorm", x)
        q = linear(f"{here}.self_attn.q_proj", y).unflatten(-1, (heads, dim))
        k = linear(f"{here}.self_attn.k_proj", y).unflatten(-1, (kv_heads, dim))
        v = linear(f"{here}.self_attn.v_proj", y).unflatten(-1, (kv_heads, dim))
        rows = []
        for m in range(len(ids)):
            frequencies, magnitude = turns(config, int(positions[m]) + 1)
            query = turn(q[m : m + 1], positions[m : m + 1], frequencies, magnitude)[0]
            keys = turn(k[: m + 1], positions[: m + 1], frequencies, magnitude).repeat_interleave(heads // kv_heads, 1)
            values = v[: m + 1].repeat_interleave(heads // kv_heads, 1)
            shares = (torch.einsum("hd,nhd->hn", query, keys) / math.sqrt(dim)).softmax(-1)
            rows.append(torch.einsum("hn,nhd->hd", shares, values).flatten())
        x = x + linear(f"{here}.self_attn.o_proj", torch.stack(rows))
        y = norm(f"{here}.post_attention_layernorm", x)
        gated = silu(linear(f"{here}.mlp.gate_proj", y)) * linear(f"{here}.mlp.up_proj", y)
        x = x + linear(f"{here}.mlp.down_proj", gated)
    return linear("lm_head", norm("model.norm", x))


def turns(config, length):
    """Frequencies and magnitude of a text of this length, from the papers' formulas."""
    said, dim, window = config.rope_parameters, config.head_dim, config.max_position_embeddings
    base, exponents = said["rope_theta"], torch.arange(0, dim, 2, dtype=torch.float64) / dim
    if said["rope_type"] == "dynamic":
        grown = said["factor"] * max(length, window) / window - (said["factor"] - 1)
        return 1 / (base * grown ** (dim / (dim - 2))) ** exponents, 1.0
    original = said["original_max_position_embeddings"]
    divisors = torch.tensor(said["long_factor" if length > original else "short_factor"], dtype=torch.float64)
    return 1 / (divisors * base**exponents), math.sqrt(1 + math.log(said["factor"]) / math.log(original))


def turn(x, positions, frequencies, magnitude):
    """[tokens, heads, dim], halves paired."""
    angles = positions[:, None, None] * frequencies
    first, second = x.chunk(2, -1)
    cos, sin = (magnitude * angles.cos()).to(x.dtype), (magnitude * angles.sin()).to(x.dtype)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


@contextmanager
def row_wise(model):
    """A copy of any model of transformers with row-wise attention, over its own tables and its own rotation."""
    model = copy.deepcopy(model)
    decoder, fresh = model.get_decoder(), copy.deepcopy(model.get_decoder().rotary_emb)
    latent = getattr(model.config, "qk_rope_head_dim", None) if "Deepseek" in type(model).__name__ else None
    apply = sys.modules[type(decoder).__module__].apply_rotary_pos_emb
    by_type = getattr(model.config, "layer_types", None) if "Gemma3" in type(model).__name__ else None
    unturned = getattr(model.config, "no_rope_layers", None)

    def turned(x, cos, sin):
        if latent:  # its pairs have come to lie as halves before this
            rest, x = x[..., :-latent], x[..., -latent:]
            return torch.cat([rest, apply_rotary_pos_emb(x, x, cos, sin)[0]], -1)
        return apply(x, x, cos, sin)[0]

    def attend(module, query, key, value, attention_mask, scaling, softcap=None, **others):
        groups, out = query.shape[1] // key.shape[1], []
        for m in range(query.shape[2]):
            positions = torch.arange(m + 1)[None]
            named = {"layer_type": by_type[module.layer_idx]} if by_type else {}
            # A copy each time: the module keeps the greatest length that it was asked for.
            cos, sin = copy.deepcopy(fresh)(query, positions, **named)
            q, k = query[:, :, m : m + 1], key[:, :, : m + 1]
            if not (unturned and not unturned[module.layer_idx]):
                q, k = turned(q, cos[:, m:], sin[:, m:]), turned(k, cos, sin)
            logits = q @ k.repeat_interleave(groups, 1).transpose(2, 3) * scaling
            if softcap is not None:
                logits = softcap * torch.tanh(logits / softcap)
            logits = logits + attention_mask[:, :, m : m + 1, : m + 1]
            out.append(logits.softmax(-1) @ value[:, :, : m + 1].repeat_interleave(groups, 1))
        return torch.cat(out, 2).transpose(1, 2), None

    def untold(module, given, made):
        return torch.ones_like(made[0]), torch.zeros_like(made[1])

    AttentionInterface.register("row-wise-reference", attend)
    AttentionMaskInterface.register("row-wise-reference", eager_mask)
    decoder.rotary_emb.register_forward_hook(untold)
    model.set_attn_implementation("row-wise-reference")
    yield model
