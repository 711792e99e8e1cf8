"""A tiny Llama with random weights: as transformers saves it, and as the `gguf` package writes it."""

from types import SimpleNamespace

import gguf
import numpy as np
import pytest
import torch
from tokenizers.pre_tokenizers import ByteLevel
from transformers import LlamaConfig, LlamaForCausalLM

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = [("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("Ġ", "Ġ"), ("Ċ", "Ċ"), ("o", "n")]


def tiny_config(**settings):
    base = {
        "vocab_size": len(tokens()),
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "max_position_embeddings": 256,
        "rms_norm_eps": 1e-5,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 2,
        # Large weights, so that positions matter to the logits.
        "initializer_range": 0.3,
    }
    return LlamaConfig(**(base | settings))


def tokens():
    return [*SPECIAL, *sorted(ByteLevel.alphabet()), *("".join(merge) for merge in MERGES)]


def tiny_model(**settings):
    torch.manual_seed(0)
    model = LlamaForCausalLM(tiny_config(**settings)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name or name.endswith("bias"):
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def write_gguf(path, model, *, stored=gguf.GGMLQuantizationType.F32, leave_out=(), extra=None, **metadata):
    """Write a model as llama.cpp's converter does; `metadata` replaces keys, `None` leaves one out."""
    config = model.config
    writer = gguf.GGUFWriter(path, "llama")
    known = {
        "llama.block_count": config.num_hidden_layers,
        "llama.context_length": config.max_position_embeddings,
        "llama.embedding_length": config.hidden_size,
        "llama.feed_forward_length": config.intermediate_size,
        "llama.attention.head_count": config.num_attention_heads,
        "llama.attention.head_count_kv": config.num_key_value_heads,
        "llama.attention.key_length": config.head_dim,
        "llama.attention.value_length": config.head_dim,
        "llama.rope.dimension_count": config.head_dim,
        "llama.rope.freq_base": config.rope_parameters["rope_theta"],
        "llama.attention.layer_norm_rms_epsilon": config.rms_norm_eps,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": tokens(),
        "tokenizer.ggml.token_type": [3] * len(SPECIAL) + [1] * (len(tokens()) - len(SPECIAL)),
        "tokenizer.ggml.merges": [" ".join(merge) for merge in MERGES],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.padding_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": "{% for m in messages %}<|im_start|>{{ m['content'] }}<|im_end|>{% endfor %}",
        "general.license": "apache-2.0",
    }
    for key, value in {**known, **{name.replace("__", "."): value for name, value in metadata.items()}}.items():
        if isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, int):
            writer.add_uint32(key, value)
        elif isinstance(value, float):
            writer.add_float32(key, value)
        elif isinstance(value, str):
            writer.add_string(key, value)
        elif value is not None:
            writer.add_array(key, value)
    for name, values in gguf_tensors(model).items():
        if name in leave_out:
            continue
        if values.ndim == 1:
            writer.add_tensor(name, values)
        else:
            writer.add_tensor(name, gguf.quants.quantize(values, stored), raw_dtype=stored)
    for name, values in (extra or {}).items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def gguf_tensors(model):
    """The state dict under GGUF's names, q and k permuted as llama.cpp's converter does."""
    names = {
        "input_layernorm": "attn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "post_attention_layernorm": "ffn_norm",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    heads = {"attn_q": model.config.num_attention_heads, "attn_k": model.config.num_key_value_heads}
    out = {}
    for name, tensor in model.state_dict().items():
        values, kind = tensor.numpy(), name.rsplit(".", 1)[1]
        if name == "model.embed_tokens.weight":
            out["token_embd.weight"] = values
        elif name == "model.norm.weight":
            out["output_norm.weight"] = values
        elif name == "lm_head.weight":
            if not model.config.tie_word_embeddings:
                out["output.weight"] = values
        else:
            _, _, number, module = name.rsplit(".", 1)[0].split(".", 3)
            short = names[module]
            if short in heads:
                shape = (heads[short], 2, model.config.head_dim // 2, *values.shape[1:])
                values = values.reshape(shape).swapaxes(1, 2).reshape(values.shape)
            out[f"blk.{number}.{short}.{kind}"] = np.ascontiguousarray(values)
    return out


@pytest.fixture(scope="session")
def tiny():
    """What the tests make tiny models and files with."""
    return SimpleNamespace(model=tiny_model, config=tiny_config, write_gguf=write_gguf, tokens=tokens, merges=MERGES)
