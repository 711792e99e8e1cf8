"""Tiny models of transformers with random weights, whose scaling depends on the length or does not."""

import torch
import transformers
from transformers import AutoModelForCausalLM

WINDOW = 32


def rope(kind, pairs=8):
    """`rope_parameters` of a kind, for a window of 32 tokens."""
    longer = {"original_max_position_embeddings": WINDOW}
    return {
        "default": {},
        "dynamic": {"factor": 2.0},
        "longrope": {
            "short_factor": [1.0] * pairs,
            "long_factor": [1.0 + pair / 2 for pair in range(pairs)],
            "factor": 4.0,
            **longer,
        },
        "yarn": {"factor": 4.0, **longer},
        "llama3": {"factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, **longer},
        "linear": {"factor": 4.0},
    }[kind] | {"rope_type": kind, "rope_theta": 10000.0}


# What each family is given beside the common settings.
FAMILIES = {
    "Llama": {},
    "Phi3": {"original_max_position_embeddings": WINDOW},
    "Qwen2": {},
    "Qwen3": {},
    "Mistral": {"sliding_window": 9},
    "Gemma2": {"sliding_window": 9},
    "Gemma3Text": {
        "sliding_window": 9,
        "layer_types": ["sliding_attention", "full_attention", "full_attention"],
    },
    "Cohere": {},
    "Glm": {},
    "GPTNeoX": {},
    "SmolLM3": {"no_rope_layers": [1, 0, 1]},
    "GptOss": {"sliding_window": 9, "num_local_experts": 2, "num_experts_per_tok": 1},
    "DeepseekV3": {
        "num_key_value_heads": 4,
        "q_lora_rank": None,
        "kv_lora_rank": 32,
        "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 16,
        "v_head_dim": 16,
        "n_routed_experts": 4,
        "n_group": 1,
        "topk_group": 1,
        "num_experts_per_tok": 2,
        "first_k_dense_replace": 2,
    },
}


def _rope_of(family, kind):
    if family == "Gemma3Text":
        return {"full_attention": rope(kind), "sliding_attention": rope("default")}
    if family in ("Glm", "GPTNeoX"):
        return rope(kind, pairs=4) | {"partial_rotary_factor": 0.5}
    return rope(kind, pairs=4 if family == "DeepseekV3" else 8)


def tiny(family, kind="dynamic", *, layers=3, weights=0.15, **settings):
    """A model of a family, the same at every call."""
    torch.manual_seed(0)
    common = {
        "vocab_size": 100,
        "hidden_size": 64,
        "intermediate_size": 64,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "max_position_embeddings": WINDOW,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "initializer_range": weights,
        "rope_parameters": _rope_of(family, kind),
    }
    if family == "DeepseekV3":
        del common["head_dim"]
    config = getattr(transformers, f"{family}Config")(**(common | FAMILIES[family] | settings))
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    model.generation_config.eos_token_id = None
    return model
