"""A GGUF file's tensors under Hugging Face's names, with rotary channels in half pairs."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ordinate.errors import InputError, got
from ordinate.files.dequantise import read_tensor
from ordinate.files.gguf import GgufFile
from ordinate.weights.pairing import interleaved_to_half

# What the reader of positions takes from the file: it is in config.json after the conversion.
_POSITIONAL = frozenset({"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"})


def plan(gguf: GgufFile, config: dict[str, Any]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Which tensor of the file each tensor of the model comes from, and its shape.

    Args:
        gguf: the file's header, architecture llama
        config: what `read_config` returned

    Returns:
        by Hugging Face's name: the name in the file, and the shape

    Raises:
        InputError: a tensor that is missing, is not known, or has another shape than the configuration says
    """
    width, inner = config["hidden_size"], config["intermediate_size"]
    query = config["num_attention_heads"] * config["head_dim"]
    key_value = config["num_key_value_heads"] * config["head_dim"]
    layer = {
        "attn_norm": ("input_layernorm", (width,), False),
        "attn_q": ("self_attn.q_proj", (query, width), config["attention_bias"]),
        "attn_k": ("self_attn.k_proj", (key_value, width), config["attention_bias"]),
        "attn_v": ("self_attn.v_proj", (key_value, width), config["attention_bias"]),
        "attn_output": ("self_attn.o_proj", (width, query), config["attention_bias"]),
        "ffn_norm": ("post_attention_layernorm", (width,), False),
        "ffn_gate": ("mlp.gate_proj", (inner, width), config["mlp_bias"]),
        "ffn_up": ("mlp.up_proj", (inner, width), config["mlp_bias"]),
        "ffn_down": ("mlp.down_proj", (width, inner), config["mlp_bias"]),
    }
    planned: dict[str, tuple[str, tuple[int, ...]]] = {
        "model.embed_tokens.weight": ("token_embd.weight", (config["vocab_size"], width))
    }
    for number in range(config["num_hidden_layers"]):
        for name, (target, shape, bias) in layer.items():
            planned[f"model.layers.{number}.{target}.weight"] = (f"blk.{number}.{name}.weight", shape)
            if bias:
                planned[f"model.layers.{number}.{target}.bias"] = (f"blk.{number}.{name}.bias", shape[:1])
    planned["model.norm.weight"] = ("output_norm.weight", (width,))
    if not config["tie_word_embeddings"]:
        planned["lm_head.weight"] = ("output.weight", (config["vocab_size"], width))
    _check(gguf, dict(planned.values()))
    return planned


def read_weights(
    gguf: GgufFile, config: dict[str, Any], planned: dict[str, tuple[str, tuple[int, ...]]]
) -> Iterator[tuple[str, np.ndarray]]:
    """The model's tensors one after another, in the order of the plan.

    Args:
        gguf: the file's header
        config: what `read_config` returned
        planned: what `plan` returned

    Returns:
        Hugging Face's name and float32 values, one tensor in memory at a time

    Raises:
        InputError: a type of storage that is not supported, or a file that was changed meanwhile
    """
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    for name, (source, _) in planned.items():
        values = read_tensor(gguf, source)
        projection = name.split(".")[-2]
        if projection in heads:
            values = interleaved_to_half(values, heads[projection], config["head_dim"])
        yield name, values


def _check(gguf: GgufFile, expected: dict[str, tuple[int, ...]]) -> None:
    for name, shape in expected.items():
        if name not in gguf.tensors:
            raise InputError(f"{gguf.path}: tensor {name} is missing")
        if gguf.tensors[name].shape != shape:
            raise InputError(f"{gguf.path}: tensor {name} must have shape {shape}, got {gguf.tensors[name].shape}")
    unknown = [name for name in gguf.tensors if name not in expected and name not in _POSITIONAL]
    if unknown:
        raise InputError(f"{gguf.path}: {len(unknown)} tensors have no place in a Llama, such as {got(unknown[0])}")
