"""Small models of transformers with random weights, as an audit meets them."""

import torch
import transformers

_LLAMA = {
    "vocab_size": 256,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    # Large weights, so that it matters where a token stands.
    "initializer_range": 0.2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_ROPE = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}
_OTHER = {"vocab_size": 256, "n_layer": 3, "n_head": 4, "initializer_range": 0.2, "bos_token_id": 1, "eos_token_id": 2}
_KINDS = {
    "llama": ("LlamaConfig", "LlamaForCausalLM", _LLAMA | _ROPE),
    "mistral": ("MistralConfig", "MistralForCausalLM", _LLAMA | _ROPE | {"sliding_window": 24}),
    "phi3": ("Phi3Config", "Phi3ForCausalLM", _LLAMA),
    "gemma3": (
        "Gemma3TextConfig",
        "Gemma3ForCausalLM",
        _LLAMA
        | {
            "head_dim": 16,
            "sliding_window": 24,
            "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
        },
    ),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", _OTHER | {"n_embd": 64, "n_positions": 256}),
    "bloom": ("BloomConfig", "BloomForCausalLM", _OTHER | {"hidden_size": 64}),
    "bert": (
        "BertConfig",
        "BertModel",
        {name: value for name, value in _LLAMA.items() if name != "num_key_value_heads"},
    ),
    "t5": (
        "T5Config",
        "T5ForConditionalGeneration",
        {
            "vocab_size": 256,
            "d_model": 64,
            "d_kv": 16,
            "d_ff": 96,
            "num_layers": 2,
            "num_heads": 4,
            "decoder_start_token_id": 0,
            "pad_token_id": 0,
            "eos_token_id": 1,
        },
    ),
}
DYNAMIC = {
    "max_position_embeddings": 64,
    "rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0},
}
LONGROPE = {
    "rope_parameters": {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "original_max_position_embeddings": 64,
        "factor": 4.0,
        "short_factor": [1.0] * 8,
        "long_factor": [float(1 + pair) for pair in range(8)],
    }
}


def small(kind, dtype=torch.float32, **settings):
    """A small model of one of the kinds above, in evaluation mode."""
    config, model, values = _KINDS[kind]
    torch.manual_seed(0)
    made = getattr(transformers, model)(getattr(transformers, config)(**(values | settings)))
    return made.to(dtype).eval()
