"""Tiny models of many architectures with random weights, and rotation in the pair layout that is not their own."""

import importlib
from contextlib import contextmanager

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_MAPPING

# Head widths are 12, 16 and 32: at 4 the permutation is its own inverse and hides faults.
_SMALL = {
    "hidden_size": 48,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "num_hidden_layers": 2,
    "vocab_size": 64,
    "intermediate_size": 32,
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
    "num_experts": 4,
    "n_routed_experts": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "moe_topk": 2,
    "max_position_embeddings": 256,
    "sliding_window": 32,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "kv_lora_rank": 24,
    "q_lora_rank": 20,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16,
    "v_head_dim": 12,
    "n_embd": 48,
    "n_head": 4,
    "n_layer": 2,
    "n_positions": 256,
    "rotary_dim": 8,
    "n_inner": 32,
}
_MLA = {"axk1", "deepseek_v2", "deepseek_v3", "glm4_moe_lite", "longcat_flash", "minicpm3", "mistral4"} | {
    "sarvam_mla",
    "youtu",
}
_ROPE = {"rope_type": "default", "rope_theta": 10000.0}
_LINEAR = {
    "layer_types": ["linear_attention", "full_attention"],
    "linear_num_value_heads": 2,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
}
_QWEN3_5 = {
    **_LINEAR,
    "head_dim": 32,
    "rope_parameters": _ROPE | {"partial_rotary_factor": 0.25, "mrope_section": [2, 1, 1], "mrope_interleaved": True},
}
_MAMBA = {"mamba_n_heads": 4, "mamba_expand": 1, "mamba_d_head": 12, "mamba_d_state": 8, "mamba_n_groups": 1}
_HALF_HEAD = {"rope_parameters": _ROPE | {"partial_rotary_factor": 0.5}}
_OWN = {
    "bamba": _MAMBA | {"attn_layer_indices": [1]},
    "cohere": {"use_qk_norm": True},
    "dbrx": {
        "d_model": 48,
        "n_heads": 4,
        "n_layers": 2,
        "max_seq_len": 256,
        "attn_config": {"kv_n_heads": 2, "rope_theta": 1e4, "clip_qkv": 8.0},
        "ffn_config": {"ffn_hidden_size": 32, "moe_num_experts": 2, "moe_top_k": 1},
    },
    "dots1": {"n_shared_experts": 1, "routed_scaling_factor": 1.0},
    "falcon": {"head_dim": None},
    "glm4_moe": {"use_qk_norm": True},
    "glm4v_moe_text": {"rope_parameters": _ROPE | {"partial_rotary_factor": 0.5, "mrope_section": [1, 1, 1]}},
    "glm4v_text": {"rope_parameters": _ROPE | {"partial_rotary_factor": 1.0, "mrope_section": [2, 2, 2]}},
    "gpt_neox": _HALF_HEAD,
    "granitemoehybrid": _MAMBA
    | {"layer_types": ["mamba", "attention"], "position_embedding_type": "rope", "shared_intermediate_size": 16},
    "helium": {"head_dim": 12},
    "hunyuan_v1_dense": {"rope_parameters": _ROPE},
    "hunyuan_v1_moe": {"rope_parameters": _ROPE},
    "lfm2": {"layer_types": ["conv", "full_attention"]},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "rope_parameters": _ROPE, "num_dense_layers": 1},
    "llama4_text": {"no_rope_layers": [1, 0]},
    "longcat_flash": {
        "num_layers": 1,
        "ffn_hidden_size": 32,
        "expert_ffn_hidden_size": 16,
        "zero_expert_num": 2,
        "head_dim": 8,
    },
    "phi": {"qk_layernorm": True},
    "qwen2_5_vl_text": {"rope_parameters": _ROPE | {"mrope_section": [2, 2, 2]}},
    "qwen2_vl_text": {"rope_parameters": _ROPE | {"mrope_section": [2, 2, 2]}},
    "qwen3_5_moe_text": _QWEN3_5,
    "qwen3_5_text": _QWEN3_5,
    "qwen3_next": _LINEAR,
    "smollm3": {"no_rope_layers": [1, 0]},
    "stablelm": _HALF_HEAD | {"qk_layernorm": True, "use_qkv_bias": True},
}


def tiny(model_type, **settings):
    """A model with random weights, its gains and biases among them."""
    made = CONFIG_MAPPING[model_type]
    plain = made()
    values = {key: value for key, value in _SMALL.items() if hasattr(plain, key)}
    if model_type in _MLA:
        values |= {"head_dim": None, "num_key_value_heads": 4}
    values |= _OWN.get(model_type, {}) | settings
    config = made(**{key: value for key, value in values.items() if value is not None})
    torch.manual_seed(0)
    model = class_of(config)._from_config(config, attn_implementation="eager").eval().float()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            gain = 1.0 if "norm" in name and name.endswith("weight") else 0.0
            parameter.copy_(gain + torch.randn_like(parameter) * (0.3 if parameter.dim() > 1 else 0.5))
    return model


def class_of(config):
    for mapping in (MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_MAPPING):
        if type(config) in mapping:
            return mapping[type(config)]
    raise KeyError(type(config))


def load(directory):
    config = transformers.AutoConfig.from_pretrained(directory)
    made = class_of(config)
    return made.from_pretrained(directory, attn_implementation="eager", dtype=torch.float32).eval()


def logits(model, tokens=100):
    ids = torch.randint(3, 60, (1, tokens), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        return model(ids)[0]


def as_half(x, width):
    """Interleaved pairs of the first `width` channels as half pairs: written from the definition, by a reshape."""
    turning, rest = x[..., :width], x[..., width:]
    return torch.cat([turning.unflatten(-1, (width // 2, 2)).transpose(-1, -2).flatten(-2), rest], dim=-1)


def as_interleaved(x, width):
    turning, rest = x[..., :width], x[..., width:]
    return torch.cat([turning.unflatten(-1, (2, width // 2)).transpose(-1, -2).flatten(-2), rest], dim=-1)


@contextmanager
def turning_the_other_way(model, own, width):
    """While this lasts, the model's code turns pairs of the layout that is not its own."""
    module = importlib.import_module(type(model).__module__)
    there, back = (as_half, as_interleaved) if own == "half" else (as_interleaved, as_half)
    kept = {name: getattr(module, name) for name in dir(module) if name.startswith("apply_") and "rot" in name}
    assert kept

    def instead(function):
        def apply(q, k, *given, **named):
            if own == "interleaved" and module.__name__.endswith(("gptj", "codegen")):
                return back(function(there(q, width), k, *given, **named), width)
            return tuple(back(x, width) for x in function(there(q, width), there(k, width), *given, **named))

        return apply

    for name, function in kept.items():
        setattr(module, name, instead(function))
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(module, name, function)
