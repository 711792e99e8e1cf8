"""Attention of a chunk of queries to a long past on a CPU, without a mask of queries times keys."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "ordinate_past"
"""What the implementation is called in transformers' registry."""

# PyTorch's fused attention for CPUs; it also returns the logarithm of each query's denominator.
_fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu


def register() -> None:
    """Enter the implementation in transformers' registry, where models find it by its name.

    Nothing that is there is changed: `attn_implementation="ordinate_past"` asks for it.
    """
    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, mask)


def mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int = 0,
    kv_offset: int = 0,
    attention_mask: Tensor | None = None,
    local_size: int | None = None,
    allow_is_causal_skip: bool = True,
    **others: Any,
) -> Tensor | None:
    """The mask of a forward pass, or None where each query sees all keys up to its own.

    Args:
        batch_size: sequences
        q_length: queries
        kv_length: keys, the queries' own among them
        q_offset: the first query's place
        kv_offset: the first key's place
        attention_mask: [batch, keys], true for tokens that are there; None for all
        local_size: how far a query sees where that is bounded, [token]
        allow_is_causal_skip: transformers' word that the pattern is causal and nothing else
        others: what transformers hands to every implementation

    Returns:
        None, or transformers' own [batch, 1, queries, keys], bool
    """
    last = isinstance(q_offset, int) and isinstance(kv_offset, int) and q_offset + q_length == kv_offset + kv_length
    everything = attention_mask is None or bool(attention_mask.all())
    if allow_is_causal_skip and last and everything and (local_size is None or kv_length < local_size):
        return None
    return sdpa_mask(
        batch_size=batch_size,
        q_length=q_length,
        kv_length=kv_length,
        q_offset=q_offset,
        kv_offset=kv_offset,
        attention_mask=attention_mask,
        local_size=local_size,
        allow_is_causal_skip=allow_is_causal_skip,
        **others,
    )


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Attention as transformers' "sdpa" computes it; queries with a past, on a CPU and without gradient, in two parts.

    The past is attended to without a mask, the queries' own tokens causally, and the two are merged:
    share = sigmoid(lse_past - lse_own); out = share * past + (1 - share) * own
    where lse is the logarithm of the sum of exp(logit) over that part's keys. This is the same softmax; a mask of
    queries times keys would cost half as much time again.

    Args:
        module: the attention layer
        query: [batch, heads, queries, head_dim]
        key, value: [batch, key-value heads, keys, head_dim], the queries' own tokens last
        attention_mask: what `mask` returned
        dropout: only 0 takes the fast way
        scaling: what multiplies q k; None for 1 / sqrt(head_dim)
        is_causal: overrides the module's own word
        others: what transformers hands to every implementation

    Returns:
        [batch, queries, heads, head_dim], and None for the weights, which are never held

    Source: Dao et al. 2022, arXiv:2205.14135, section 3.1 (softmax over blocks).
    Differs from the paper: two parts, merged by the difference of their logarithms.
    """
    queries, past = query.shape[2], key.shape[2] - query.shape[2]
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    gradient = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (query, key, value))
    plain = others.get("softcap") is None and others.get("position_bias") is None and key.shape[-1] == value.shape[-1]
    two_parts = attention_mask is None and causal and queries > 1 and past > 0
    if two_parts and plain and query.device.type == "cpu" and not dropout and not gradient:
        return _in_two_parts(query, key, value, past, scaling), None
    if two_parts:
        # Without a mask "sdpa" would take the first key for the first query's own.
        rows = torch.arange(past, past + queries, device=query.device)
        attention_mask = (rows[:, None] >= torch.arange(past + queries, device=query.device))[None, None]
    return sdpa_attention_forward(
        module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, is_causal=is_causal, **others
    )


def _in_two_parts(query: Tensor, key: Tensor, value: Tensor, past: int, scaling: float | None) -> Tensor:
    batch, heads, queries, head_dim = query.shape
    shared = key.shape[1]
    groups = heads // shared
    # All query heads of a key-value head attend to the same past: they are one head with more queries.
    folded = query.reshape(batch, shared, groups * queries, head_dim)
    before, before_lse = _fused(folded, key[:, :, :past], value[:, :, :past], 0.0, False, scale=scaling)
    own_key, own_value = (tensor[:, :, past:].repeat_interleave(groups, dim=1) for tensor in (key, value))
    own, own_lse = _fused(query, own_key, own_value, 0.0, True, scale=scaling)
    share = torch.sigmoid(before_lse.reshape(own_lse.shape) - own_lse)[..., None].to(own.dtype)
    return torch.lerp(own, before.reshape(own.shape), share).transpose(1, 2).contiguous()
