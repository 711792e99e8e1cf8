"""Small models with random weights of many architectures, from transformers' own configurations."""

from dataclasses import dataclass, field

import torch
import transformers

LENGTH = 96
_WINDOW = 256
_SMALL = {
    "vocab_size": 128,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": _WINDOW,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_GROUPED = _SMALL | {"num_key_value_heads": 2}
_EIGHT = [1.0 + 0.5 * number for number in range(8)]


def _rope(kind, window=_WINDOW, **settings):
    return {
        "rope_parameters": {"rope_type": kind, "rope_theta": 10000.0, **settings},
        "max_position_embeddings": window,
    }


@dataclass(frozen=True)
class Architecture:
    """A configuration of transformers, and what it does with position in a few words."""

    name: str
    does: str
    config: str
    model: str
    settings: dict = field(default_factory=dict)


_LLAMA = ("LlamaConfig", "LlamaForCausalLM")
_LIST = (
    Architecture("llama", "RoPE", *_LLAMA, _GROUPED),
    Architecture("llama-linear", "RoPE, linear", *_LLAMA, _GROUPED | _rope("linear", factor=4.0)),
    Architecture("llama-dynamic", "RoPE, Dynamic NTK", *_LLAMA, _GROUPED | _rope("dynamic", window=64, factor=4.0)),
    Architecture(
        "llama-yarn",
        "RoPE, YaRN",
        *_LLAMA,
        _GROUPED | _rope("yarn", factor=4.0, original_max_position_embeddings=64),
    ),
    Architecture(
        "llama-llama3",
        "RoPE, Llama 3",
        *_LLAMA,
        _GROUPED
        | _rope("llama3", factor=4.0, original_max_position_embeddings=64, low_freq_factor=1.0, high_freq_factor=4.0),
    ),
    Architecture(
        "phi3-longrope",
        "RoPE, LongRoPE",
        "Phi3Config",
        "Phi3ForCausalLM",
        _GROUPED
        | _rope(
            "longrope",
            original_max_position_embeddings=64,
            short_factor=[1.0] * 8,
            long_factor=_EIGHT,
        )
        | {"original_max_position_embeddings": 64},
    ),
    Architecture("gpt-neox", "RoPE of a quarter", "GPTNeoXConfig", "GPTNeoXForCausalLM", _SMALL | {"is_decoder": True}),
    Architecture("phi", "RoPE of a half", "PhiConfig", "PhiForCausalLM", _GROUPED),
    Architecture(
        "gpt-j",
        "RoPE, interleaved",
        "GPTJConfig",
        "GPTJForCausalLM",
        {"vocab_size": 128, "n_embd": 64, "n_layer": 2, "n_head": 4, "rotary_dim": 8, "n_positions": _WINDOW}
        | {"bos_token_id": 1, "eos_token_id": 2},
    ),
    Architecture(
        "bloom",
        "ALiBi",
        "BloomConfig",
        "BloomForCausalLM",
        {"vocab_size": 128, "hidden_size": 64, "n_layer": 2, "n_head": 4},
    ),
    Architecture(
        "mpt",
        "ALiBi",
        "MptConfig",
        "MptForCausalLM",
        {"vocab_size": 128, "d_model": 64, "n_layers": 2, "n_heads": 4, "max_seq_len": _WINDOW},
    ),
    Architecture(
        "falcon-alibi",
        "ALiBi, scaled",
        "FalconConfig",
        "FalconForCausalLM",
        _SMALL | {"alibi": True, "new_decoder_architecture": False, "multi_query": False, "parallel_attn": False},
    ),
    Architecture("falcon", "RoPE", "FalconConfig", "FalconForCausalLM", _SMALL | {"multi_query": True}),
    Architecture(
        "t5",
        "T5 buckets",
        "T5Config",
        "T5ForConditionalGeneration",
        {"vocab_size": 128, "d_model": 64, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 4},
    ),
    Architecture(
        "gpt2",
        "learned table",
        "GPT2Config",
        "GPT2LMHeadModel",
        {"vocab_size": 128, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": _WINDOW}
        | {"bos_token_id": 1, "eos_token_id": 2},
    ),
    Architecture(
        "opt",
        "learned table from row 2",
        "OPTConfig",
        "OPTForCausalLM",
        _SMALL | {"ffn_dim": 64, "word_embed_proj_dim": 64},
    ),
    Architecture("bert", "learned table", "BertConfig", "BertModel", _SMALL),
    Architecture(
        "xlm-roberta",
        "learned table from row 2",
        "XLMRobertaConfig",
        "XLMRobertaModel",
        _SMALL | {"pad_token_id": 1, "bos_token_id": 0, "max_position_embeddings": _WINDOW + 2},
    ),
    Architecture(
        "modernbert", "RoPE, two bases", "ModernBertConfig", "ModernBertModel", _SMALL | {"local_attention": 32}
    ),
    Architecture(
        "deepseek-v3",
        "MLA",
        "DeepseekV3Config",
        "DeepseekV3ForCausalLM",
        _SMALL
        | {"num_key_value_heads": 4, "q_lora_rank": 24, "kv_lora_rank": 32, "qk_rope_head_dim": 8, "v_head_dim": 16}
        | {"qk_nope_head_dim": 16, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
        | {"n_group": 1, "topk_group": 1, "first_k_dense_replace": 1},
    ),
    Architecture(
        "qwen2-vl-text",
        "M-RoPE",
        "Qwen2VLTextConfig",
        "Qwen2VLTextModel",
        _GROUPED | {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]}},
    ),
    Architecture(
        "gemma3",
        "RoPE by layer, sliding",
        "Gemma3TextConfig",
        "Gemma3ForCausalLM",
        _GROUPED | {"head_dim": 16, "sliding_window": 24, "layer_types": ["sliding_attention", "full_attention"]},
    ),
    Architecture(
        "cohere2",
        "RoPE, sliding, and NoPE",
        "Cohere2Config",
        "Cohere2ForCausalLM",
        _GROUPED | {"sliding_window": 24, "layer_types": ["sliding_attention", "full_attention"]},
    ),
    Architecture(
        "mistral",
        "RoPE, sliding",
        "MistralConfig",
        "MistralForCausalLM",
        _GROUPED | {"head_dim": 16, "sliding_window": 24},
    ),
    Architecture(
        "mixtral",
        "RoPE, mixture of experts",
        "MixtralConfig",
        "MixtralForCausalLM",
        _GROUPED | {"head_dim": 16, "num_local_experts": 4},
    ),
    Architecture(
        "smollm3", "RoPE and NoPE", "SmolLM3Config", "SmolLM3ForCausalLM", _GROUPED | {"no_rope_layers": [1, 0]}
    ),
    Architecture(
        "llama4",
        "RoPE and NoPE, chunked",
        "Llama4TextConfig",
        "Llama4ForCausalLM",
        _GROUPED
        | {"head_dim": 16, "intermediate_size_mlp": 64, "num_local_experts": 2, "no_rope_layers": [1, 0]}
        | {"attention_chunk_size": 64},
    ),
    Architecture("qwen3", "RoPE, q and k normed", "Qwen3Config", "Qwen3ForCausalLM", _GROUPED | {"head_dim": 16}),
    Architecture(
        "gpt-oss",
        "RoPE, YaRN, sliding, sinks",
        "GptOssConfig",
        "GptOssForCausalLM",
        _GROUPED
        | {"head_dim": 16, "num_local_experts": 2, "num_experts_per_tok": 1, "sliding_window": 24}
        | _rope("yarn", factor=4.0, original_max_position_embeddings=64),
    ),
)

ARCHITECTURES: dict[str, Architecture] = {architecture.name: architecture for architecture in _LIST}


def build(name: str, dtype: torch.dtype = torch.float32):
    """A model with random weights, large enough that it matters where a token stands."""
    architecture = ARCHITECTURES[name]
    config = getattr(transformers, architecture.config)(**architecture.settings)
    torch.manual_seed(0)
    made = getattr(transformers, architecture.model)
    # Not cast afterwards: that would round the frequencies.
    model = made._from_config(config, attn_implementation="eager", dtype=dtype).eval()
    with torch.no_grad():
        for where, parameter in model.named_parameters():
            if parameter.dim() > 1 and "norm" not in where:
                parameter.normal_(std=parameter.shape[-1] ** -0.5 if "embed" not in where else 1.0)
    return model
