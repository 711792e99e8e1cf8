"""In what the layers of architectures differ, as far as their number of weights goes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from ordinate.plan.values import Values


@dataclass(frozen=True)
class Unless:
    """A flag that is true but where the configuration says otherwise.

    Args:
        key: of the configuration
    """

    key: str


Flag = bool | str | Unless
"""A string is the key of the configuration that says it, false where the configuration has none."""


def holds(values: Values, flag: Flag) -> bool:
    """Whether a flag is set, by the configuration where that has a word in it."""
    if isinstance(flag, bool):
        return flag
    return values.flag(flag, default=False) if isinstance(flag, str) else values.flag(flag.key, default=True)


@dataclass(frozen=True)
class Family:
    """What a decoder's layers are made of.

    Args:
        gated: the feed-forward layer has three matrices, not two
        norms: vectors of norms in a layer, as wide as the model
        norm_bias: each has a bias beside it
        serial_norms: those of them that a layer has only where attention and feed-forward follow each other
        qk_norm: norms of queries and keys: a head wide, or as wide as all heads
        qk_norm_where: whether there are any
        qk_norm_bias: each has a bias beside it
        qkv_bias, out_bias, mlp_bias: biases of the projections
        tied: the output layer is the embedding, where the configuration does not say
        head_bias: of the output layer
        final_norm: after the last layer
        query_gate: queries come with a gate as wide as they are
        sinks: a logit a head
        expert_bias: experts and the router have biases
        shared_gate: the shared expert has one
        experts: there may be any
        width: keys of the feed-forward width
        positions: rows of a learned table beyond those of the window; None where there is none
    """

    gated: bool = True
    norms: int = 2
    norm_bias: bool = False
    serial_norms: int = 0
    qk_norm: Literal["", "head", "all"] = ""
    qk_norm_where: Flag = True
    qk_norm_bias: bool = False
    qkv_bias: Flag = False
    out_bias: Flag = False
    mlp_bias: Flag = False
    tied: bool = False
    head_bias: Flag = False
    final_norm: bool = True
    query_gate: bool = False
    sinks: bool = False
    expert_bias: bool = False
    shared_gate: bool = False
    experts: bool = False
    width: tuple[str, ...] = ("intermediate_size",)
    positions: int | None = None


_LLAMA = Family(qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias")
_PLAIN = Family()
_QWEN3 = Family(qk_norm="head", qkv_bias="attention_bias", out_bias="attention_bias")
_GEMMA = Family(tied=True, qkv_bias="attention_bias", out_bias="attention_bias")
_BIASED = Family(gated=False, norm_bias=True, qkv_bias=True, out_bias=True, mlp_bias=True, tied=True)
_DEEPSEEK = Family(experts=True, qkv_bias="attention_bias", out_bias="attention_bias")
_ATTENTION, _USED, _ENABLED = Unless("attention_bias"), Unless("use_bias"), Unless("enable_bias")

FAMILIES: Mapping[str, Family] = {
    **dict.fromkeys(("llama", "arcee", "granite", "seed_oss"), _LLAMA),
    "arcee": replace(_LLAMA, gated=False),
    "smollm3": replace(_LLAMA, tied=True),
    "seed_oss": replace(_LLAMA, qkv_bias="attention_bias", out_bias="attention_out_bias"),
    **dict.fromkeys(("mistral", "ministral", "ministral3", "phi3", "yi"), _PLAIN),
    "internlm2": Family(qkv_bias=Unless("bias"), out_bias=Unless("bias")),
    "mixtral": Family(experts=True),
    "phimoe": Family(
        experts=True, norm_bias=True, qkv_bias="attention_bias", out_bias="attention_bias", head_bias="lm_head_bias"
    ),
    "qwen2": Family(qkv_bias=True),
    "qwen2_moe": Family(qkv_bias=Unless("qkv_bias"), experts=True, shared_gate=True),
    "qwen3": _QWEN3,
    "qwen3_moe": replace(_QWEN3, experts=True),
    "qwen3_next": replace(_QWEN3, experts=True, shared_gate=True, query_gate=True),
    "gemma": _GEMMA,
    "gemma2": replace(_GEMMA, norms=4),
    "gemma3_text": replace(_GEMMA, norms=4, qk_norm="head"),
    "cohere": Family(
        norms=1,
        tied=True,
        qk_norm="all",
        qk_norm_where="use_qk_norm",
        qkv_bias="attention_bias",
        out_bias="attention_bias",
    ),
    "cohere2": Family(norms=1, tied=True, qkv_bias="attention_bias", out_bias="attention_bias"),
    "olmo": Family(norms=0, final_norm=False, qkv_bias="attention_bias", out_bias="attention_bias"),
    "olmo2": Family(qk_norm="all", qkv_bias="attention_bias", out_bias="attention_bias"),
    "olmo3": Family(qk_norm="all", qkv_bias="attention_bias", out_bias="attention_bias"),
    "olmoe": Family(qk_norm="all", qkv_bias="attention_bias", out_bias="attention_bias", experts=True),
    "exaone4": Family(qk_norm="head"),
    "glm": Family(qkv_bias="attention_bias"),
    "glm4": Family(norms=4, qkv_bias="attention_bias"),
    "glm4_moe": Family(qkv_bias="attention_bias", qk_norm="head", qk_norm_where="use_qk_norm", experts=True),
    "minimax_m2": Family(qk_norm="all", experts=True),
    "minimax": Family(experts=True),
    "gpt_oss": Family(qkv_bias=_ATTENTION, out_bias=_ATTENTION, sinks=True, experts=True, expert_bias=True),
    "llama4_text": Family(experts=True, qkv_bias="attention_bias", out_bias="attention_bias"),
    **dict.fromkeys(("deepseek_v3", "kimi_k2"), _DEEPSEEK),
    "deepseek_v2": replace(_DEEPSEEK, mlp_bias="mlp_bias"),
    "nemotron": Family(
        gated=False, norm_bias=True, qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias"
    ),
    "stablelm": Family(
        norm_bias=True, serial_norms=1, qkv_bias="use_qkv_bias", qk_norm="all", qk_norm_where="qk_layernorm"
    ),
    "starcoder2": replace(_BIASED, qkv_bias=_USED, out_bias=_USED, mlp_bias=_USED),
    "phi": replace(
        _BIASED,
        norms=1,
        tied=False,
        head_bias=True,
        qk_norm="head",
        qk_norm_where="qk_layernorm",
        qk_norm_bias=True,
    ),
    "gpt_neox": replace(_BIASED, tied=False, qkv_bias=_ATTENTION, out_bias=_ATTENTION),
    "gpt2": replace(_BIASED, width=("n_inner",), positions=0),
    "gpt_bigcode": replace(_BIASED, width=("n_inner",), positions=0),
    "bloom": replace(_BIASED, width=()),
    "opt": replace(_BIASED, width=("ffn_dim",), positions=2, qkv_bias=_ENABLED, out_bias=_ENABLED, mlp_bias=_ENABLED),
    "mpt": Family(gated=False, tied=True, width=()),
    "falcon": Family(
        gated=False,
        norms=1,
        norm_bias=True,
        qkv_bias="bias",
        out_bias="bias",
        mlp_bias="bias",
        tied=True,
        width=("ffn_hidden_size",),
    ),
    "jamba": Family(experts=True),
    "falcon_h1": Family(qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias"),
}
"""By model type."""
