"""A tiny Llama as files, and refusals."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from ordinate.errors import InputError
from ordinate.files.safetensors import read_header
from ordinate.weights import convert
from ordinate.weights.safetensors import encode_header

LLAMA = {
    "model_type": "llama",
    "hidden_size": 12,
    "intermediate_size": 8,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 6,
    "num_hidden_layers": 1,
    "max_position_embeddings": 64,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
}
HALF_TO_INTERLEAVED = np.array([0, 3, 1, 4, 2, 5])  # of a head of 6 channels, by hand
STEM = "model.layers.0.self_attn."


def weights(**more):
    generator = np.random.default_rng(0)
    shapes = {
        "model.embed_tokens.weight": (10, 12),
        f"{STEM}q_proj.weight": (24, 12),
        f"{STEM}k_proj.weight": (12, 12),
        f"{STEM}v_proj.weight": (12, 12),
        f"{STEM}o_proj.weight": (12, 24),
        "model.layers.0.mlp.up_proj.weight": (8, 12),
        "model.layers.0.input_layernorm.weight": (12,),
        "model.layers.0.post_attention_layernorm.weight": (12,),
        "model.norm.weight": (12,),
    }
    return {name: generator.normal(size=shape).astype(np.float32) for name, shape in (shapes | more).items()}


def rows(tensor, heads):
    """The rows of half-paired heads of 6 channels in interleaved order."""
    return np.concatenate([tensor[6 * head + HALF_TO_INTERLEAVED] for head in range(heads)])


def write(directory, tensors, config=LLAMA, metadata=None):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config))
    save_file(tensors, directory / "model.safetensors", metadata)
    return directory


def write_raw(directory, entries, config=LLAMA):
    """Tensors of any type of the format, their bytes counted up."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config))
    header, place = {}, 0
    for name, (dtype, shape, size) in entries.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [place, place + size]}
        place += size
    body = np.random.default_rng(1).integers(0, 256, place).astype(np.uint8).tobytes()
    (directory / "model.safetensors").write_bytes(encode_header(header) + body)
    return directory


def raw(directory):
    header = read_header(directory / "model.safetensors")
    data = (directory / "model.safetensors").read_bytes()
    return {name: data[tensor.start : tensor.end] for name, tensor in header.tensors.items()}


def refused(source, out, message, pairing="interleaved", **options):
    with pytest.raises(InputError, match=message) as caught:
        convert(source, out, pairing, **options)
    assert "\n" not in str(caught.value)
    assert not out.exists()
