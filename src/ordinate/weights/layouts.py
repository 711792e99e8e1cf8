"""Where each architecture keeps q and k: names of modules, and how their rows are cut."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ordinate.weights.cuts import (
    BLOCKS,
    CODEGEN,
    GATED_QUERY,
    GROUPS,
    KEY,
    KEY_GAIN,
    LATENT_KEY,
    QUERY,
    QUERY_GAIN,
    Cut,
)


@dataclass(frozen=True)
class Layout:
    """The names of an architecture's attention, as `STACK.NUMBER.ATTENTION.MODULE.PARAMETER`.

    Args:
        moves: the modules that hold q or k, or scale them after projection
        stays: the other modules and parameters of attention, whose rows are no channels of q or k
        stack: what the list of layers is called
        attention: what a layer calls the module in which `moves` and `stays` stand
        unrotated: other modules of a layer that attend without rotation
    """

    moves: Mapping[str, Cut]
    stays: frozenset[str]
    stack: str = "layers"
    attention: str = "self_attn"
    unrotated: frozenset[str] = frozenset()


# Values, outputs, gates and sinks by head; `rotary_emb` is a table of frequencies that old files carry.
_STAYS = frozenset(
    {
        *(
            "v_proj",
            "o_proj",
            "out_proj",
            "dense",
            "rotary_emb",
            "sinks",
            "attention_sink_bias",
            "k_scale",
            "v_scale",
            "kv_scale",
        ),
        *("gate_proj", "g_proj", "v_norm", "attn_sub_norm", "inner_attn_ln", "subln", "groupnorm"),
        *("lambda_q1", "lambda_q2", "lambda_k1", "lambda_k2"),
    }
)
_GAINS = {
    **dict.fromkeys(("q_norm", "q_layernorm", "query_layernorm"), QUERY_GAIN),
    **dict.fromkeys(("k_norm", "k_layernorm", "key_layernorm"), KEY_GAIN),
}

SEPARATE = Layout({"q_proj": QUERY, "k_proj": KEY, **_GAINS}, _STAYS)
"""q and k apart: Llama and most of its kin."""
GATED = replace(
    SEPARATE, moves={**SEPARATE.moves, "q_proj": GATED_QUERY}, unrotated=frozenset({"linear_attn", "temporal_block"})
)
"""A gate beside each query head: Qwen3-Next and Qwen3.5."""
EXAONE = replace(SEPARATE, stack="(?:h|layers)", attention=r"(?:attn\.attention|self_attn)")
"""EXAONE 3's files have other names than transformers' modules."""
PHI3 = Layout({"qkv_proj": BLOCKS}, _STAYS)
DBRX = Layout({"Wqkv": BLOCKS}, _STAYS, "blocks", r"norm_attn_norm\.attn")
MODERNBERT = Layout({"Wqkv": BLOCKS}, _STAYS | {"Wo"}, "layers", "attn")
NEOX = Layout({"query_key_value": GROUPS}, _STAYS | {"bias", "masked_bias"}, "layers", "attention")
PERSIMMON = Layout({"query_key_value": GROUPS, **_GAINS}, _STAYS)
FALCON = Layout({"query_key_value": GROUPS}, _STAYS, "h", "self_attention")
GPTJ = Layout({"q_proj": QUERY, "k_proj": KEY}, _STAYS | {"bias", "masked_bias", "embed_positions"}, "h", "attn")
CODEGEN_LAYOUT = Layout({"qkv_proj": CODEGEN}, _STAYS | {"bias", "causal_mask", "masked_bias"}, "h", "attn")
MLA = Layout(
    {"q_b_proj": QUERY, "q_proj": QUERY, "kv_a_proj_with_mqa": LATENT_KEY},
    _STAYS | {"q_a_proj", "q_a_layernorm", "kv_a_layernorm", "kv_b_proj"},
    attention=r"self_attn(?:\.\d+)?",
)
"""DeepSeek's decoupled parts: the last channels of each query head, the last rows beside the latent."""

_BY_LAYOUT: tuple[tuple[Layout, str], ...] = (
    (
        SEPARATE,
        "apertus arcee aria_text bamba bitnet cohere cohere2 cohere2_moe cwm diffllama dots1 ernie4_5 ernie4_5_moe "
        "eurobert exaone4 exaone_moe falcon_h1 flex_olmo gemma gemma2 gemma3_text glm glm4 "
        "glm4_moe glm4v_moe_text glm4v_text gpt_oss granite granitemoe granitemoehybrid granitemoeshared helium "
        "hunyuan_v1_dense hunyuan_v1_moe hyperclovax internlm3 jais2 lfm2 lfm2_moe llama llama4_text "
        "minimax_m2 ministral ministral3 mistral mixtral nanochat nemotron olmo olmo2 olmo3 olmoe phi phimoe qwen2 "
        "qwen2_5_vl_text qwen2_moe qwen2_vl_text qwen3 qwen3_moe qwen3_vl_moe_text qwen3_vl_text seed_oss smollm3 "
        "solar_open stablelm starcoder2 vaultgemma",
    ),
    (GATED, "qwen3_5_moe_text qwen3_5_text qwen3_next"),
    (MLA, "axk1 deepseek_v2 deepseek_v3 glm4_moe_lite longcat_flash minicpm3 mistral4 sarvam_mla youtu"),
    (EXAONE, "exaone"),
    (PHI3, "phi3"),
    (DBRX, "dbrx"),
    (MODERNBERT, "modernbert"),
    (NEOX, "gpt_neox"),
    (PERSIMMON, "persimmon"),
    (FALCON, "falcon"),
    (GPTJ, "gptj"),
    (CODEGEN_LAYOUT, "codegen"),
)


def model_types() -> list[str]:
    """The model types whose layout is known, in alphabetical order."""
    return sorted(word for _, words in _BY_LAYOUT for word in words.split())


def layout(model_type: str) -> Layout | None:
    """Where a model type keeps q and k, or None where that is not known.

    Args:
        model_type: of the language model

    Source: transformers 5.24, the attention of each model.
    """
    return next((layout for layout, words in _BY_LAYOUT if model_type in words.split()), None)
