"""`ordinate.ops.attend` as an attention implementation of transformers, on explicit request."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from ordinate.errors import InputError
from ordinate.ops import attend as attend_to

NAME = "ordinate"
"""What the implementation is called in transformers' registry."""

# A mask of one row, which a layer's every query shares, has one of these types, so that it is no mask of
# transformers' own: what follows from the order of the tokens is not in it.
_CAUSAL = torch.uint8
_CAUSAL_IN_WINDOW = torch.int8


def register() -> None:
    """Enter the implementation in transformers' registry, where models find it by its name.

    Nothing that is there is changed: `attn_implementation="ordinate"` asks for it.
    """
    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, mask)


def mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int | Tensor = 0,
    kv_offset: int | Tensor = 0,
    attention_mask: Tensor | None = None,
    local_size: int | None = None,
    allow_is_causal_skip: bool = True,
    config: Any = None,
    **others: Any,
) -> Tensor | None:
    """What `attend` needs to know of a forward pass: nothing of queries times keys where order and padding say it all.

    Args:
        batch_size: sequences
        q_length: queries
        kv_length: keys, the queries' own and a static cache's empty places among them
        q_offset: the first query's place
        kv_offset: the first key's place
        attention_mask: [batch, keys], true for tokens that are there; None for all
        local_size: how far a query sees where that is bounded, [token]
        allow_is_causal_skip: transformers' word that the pattern is causal, within `local_size`, and nothing else
        config: the model's, which says whether `local_size` is a sliding window
        others: what transformers hands to every implementation

    Returns:
        None where each query sees all keys up to its own, the last query's the last; [batch or 1, 1, 1, keys],
        uint8, where 0 hides a key from all queries and keys after the last query are left out, int8 where the layer's
        window holds as well; or transformers' own [batch, 1, queries, keys], bool
    """
    settings = {
        "batch_size": batch_size,
        "q_length": q_length,
        "kv_length": kv_length,
        "q_offset": q_offset,
        "kv_offset": kv_offset,
        "attention_mask": attention_mask,
        "local_size": local_size,
        "allow_is_causal_skip": False,
        "config": config,
        **others,
    }
    if torch.compiler.is_compiling() or "allow_is_bidirectional_skip" in others:
        return sdpa_mask(**settings)
    keys = int(q_offset) + q_length - int(kv_offset)
    bounded = local_size is not None and keys > local_size
    known = not bounded or getattr(config, "sliding_window", None) == local_size
    if not 0 < keys <= kv_length or not (known and allow_is_causal_skip):
        made = sdpa_mask(**settings)
        # One query meets a static cache: transformers never leaves the mask out there.
        if made is None or q_length > 1 or not 0 < keys <= kv_length:
            return made
        made = made[..., :keys]
        return _everything(_CAUSAL, keys, made.device) if bool(made.all()) else made
    there = None if attention_mask is None else attention_mask[:, int(kv_offset) : int(kv_offset) + keys]
    if there is not None and there.shape[1] < keys:
        there = torch.nn.functional.pad(there, (0, keys - there.shape[1]))
    if there is not None and bool(there.all()):
        there = None
    if there is None and keys == kv_length and not bounded:
        return None
    kind = _CAUSAL_IN_WINDOW if bounded else _CAUSAL
    if there is None:
        return _everything(kind, keys, others.get("device", "cpu"))
    return there.to(kind)[:, None, None]


def _everything(kind: torch.dtype, keys: int, device: Any) -> Tensor:
    """A mask that hides nothing, whose length alone matters: one number, repeated by stride 0."""
    return torch.ones(1, dtype=kind, device=device).expand(1, 1, 1, keys)


@dataclass(frozen=True)
class Sight:
    """Which keys a layer's queries see.

    Args:
        keys: how many keys there are, from the first; what a static cache holds beyond them is empty, [token]
        causal: whether keys after a query are hidden
        window: how far it sees, as `ordinate.ops.attend` takes it; None for no bound
        seen: [batch or 1, 1, queries or 1, keys], bool, what else hides keys; None where nothing does
        bias: floats that broadcast to [batch, heads, queries, keys], [logit]; None where there are none
    """

    keys: int
    causal: bool
    window: tuple[int, None] | None
    seen: Tensor | None
    bias: Tensor | None


def sight(
    module: nn.Module,
    attention_mask: Tensor | None,
    keys: int,
    is_causal: bool | None = None,
    position_bias: Tensor | None = None,
    sliding_window: int | None = None,
) -> Sight:
    """What a mask says.

    Args:
        module: the attention layer
        attention_mask: what `mask` returned, or transformers' own: bool, or floats that are added to the logits
        keys: how many keys the layer has
        is_causal: overrides the module's own word
        position_bias: [batch or 1, heads, queries, keys], [logit]
        sliding_window: how far this layer sees where `mask` found that it matters, [token]; where not given the
            configuration's

    Raises:
        InputError: a layer that does not say its window
    """
    if attention_mask is None:
        causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
        return Sight(keys, causal, None, None, position_bias)
    window, seen, bias = None, None, position_bias
    if attention_mask.shape[-1] < keys:
        keys = attention_mask.shape[-1]
        bias = None if bias is None else bias[..., :keys]
    kind = attention_mask.dtype
    causal = kind in (_CAUSAL, _CAUSAL_IN_WINDOW)
    if causal:
        seen = None if attention_mask.stride(3) == 0 else attention_mask.view(torch.bool)
    elif kind == torch.bool:
        seen = attention_mask
    else:
        bias = attention_mask if bias is None else bias + attention_mask
    if kind == _CAUSAL_IN_WINDOW:
        if sliding_window is None:
            sliding_window = getattr(getattr(module, "config", None), "sliding_window", None)
        if sliding_window is None:
            raise InputError(f"{type(module).__name__} must hand its sliding_window to the attention, got None")
        window = (sliding_window - 1, None)
    return Sight(keys, causal, window, seen, bias)


def check_plain(name: str, dropout: float, output_attentions: bool | None) -> None:
    """Refuse what `ordinate.ops.attend` does not compute."""
    if dropout:
        raise InputError(f"attention {name!r} has no dropout: attention_dropout must be 0, got {dropout}")
    if output_attentions:
        raise InputError(f"attention {name!r} holds no weights: output_attentions must be False, got True")


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    position_bias: Tensor | None = None,
    sliding_window: int | None = None,
    output_attentions: bool | None = False,
    **others: Any,  # noqa: ARG001
) -> tuple[Tensor, None]:
    """Attention of one layer by `ordinate.ops.attend`: key heads are not repeated, nothing is copied.

    Args:
        module: the attention layer
        query: [batch, heads, queries, head_dim]
        key, value: [batch, key-value heads, keys, head_dim], the queries' own tokens last
        attention_mask: what `mask` returned, or transformers' own: bool, or floats that are added to the logits
        dropout: only 0 can be computed
        scaling: what multiplies q k; None for 1 / sqrt(head_dim)
        is_causal: overrides the module's own word
        softcap: the bound of logits, [logit]
        s_aux: [heads], a logit more in each denominator (gpt-oss), [logit]
        position_bias: [batch or 1, heads, queries, keys], [logit]
        sliding_window: how far this layer sees where `mask` found that it matters, [token]; where not given the
            configuration's
        output_attentions: only False can be computed
        others: what transformers hands to every implementation

    Returns:
        [batch, queries, heads, head_dim], and None for the weights, which are never held

    Raises:
        InputError: dropout, weights asked for, or a layer that does not say its window
    """
    check_plain(NAME, dropout, output_attentions)
    seen = sight(module, attention_mask, key.shape[2], is_causal, position_bias, sliding_window)
    out = attend_to(
        query.transpose(1, 2),
        key[:, :, : seen.keys].transpose(1, 2),
        value[:, :, : seen.keys].transpose(1, 2),
        causal=seen.causal,
        softmax_scale=scaling,
        softcap=softcap,
        window=seen.window,
        sink_logits=None if s_aux is None else s_aux.float(),
        mask=seen.seen,
        bias=None if seen.bias is None else seen.bias.to(torch.promote_types(seen.bias.dtype, torch.float32)),
    )
    return out, None
