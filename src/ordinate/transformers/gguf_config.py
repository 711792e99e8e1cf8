"""A GGUF file's metadata as a Hugging Face configuration, in the spelling of transformers v5."""

from collections.abc import Mapping
from typing import Any

from ordinate.dialects import llama_cpp
from ordinate.dialects.huggingface.spelling import rope_parameters
from ordinate.errors import InputError, got, positive, positive_integer
from ordinate.files.gguf import GgufFile
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.spec import Spec

ARCHITECTURES = ("llama",)
"""GGUF's `general.architecture` of the models that can be converted."""


def read_config(gguf: GgufFile) -> dict[str, Any]:
    """The content of config.json for a GGUF file.

    Numbers that GGUF stores as float32 (the base, the norm's epsilon) keep the exact value that is stored.

    Args:
        gguf: the file's header

    Returns:
        what transformers' `LlamaConfig` reads

    Raises:
        InputError: another architecture, a missing or impossible value, experts, or position handled in a way
            that has no spelling in Hugging Face's files
    """
    architecture = gguf.metadata.get("general.architecture")
    if architecture not in ARCHITECTURES:
        raise InputError(
            f"{gguf.path}: architecture {got(architecture)} cannot be converted, those that can: "
            f"{', '.join(ARCHITECTURES)}"
        )
    read = _Reader(gguf, architecture)
    if gguf.metadata.get(f"{architecture}.expert_count", 0):
        raise InputError(f"{gguf.path}: a mixture of experts cannot be converted")
    spec = llama_cpp.read(gguf, name=str(gguf.path))
    group = spec.group
    heads = read.integer("attention.head_count")
    key_value_heads = read.integer("attention.head_count_kv", heads)
    if group.rotary_dim != group.rope.head_dim:
        raise InputError(
            f"{gguf.path}: transformers' Llama turns all {group.rope.head_dim} channels of a head, "
            f"this file {group.rotary_dim}"
        )
    if heads % key_value_heads:
        raise InputError(f"{gguf.path}: {heads} query heads must be a multiple of {key_value_heads} key-value heads")
    vocabulary, width = read.shape("token_embd.weight", 2)
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "float32",
        "vocab_size": vocabulary,
        "hidden_size": width,
        "intermediate_size": read.integer("feed_forward_length"),
        "num_hidden_layers": read.integer("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": key_value_heads,
        "head_dim": group.rope.head_dim,
        "hidden_act": "silu",
        "max_position_embeddings": _maximum_length(gguf, spec),
        "rms_norm_eps": positive(f"{gguf.path}: norm epsilon", read.value("attention.layer_norm_rms_epsilon")),
        "rope_parameters": rope_parameters(group.rope, group.stretch),
        "attention_bias": "blk.0.attn_q.bias" in gguf.tensors,
        "mlp_bias": "blk.0.ffn_up.bias" in gguf.tensors,
        "tie_word_embeddings": "output.weight" not in gguf.tensors,
        **token_ids(gguf.metadata, vocabulary),
    }


def token_ids(metadata: Mapping[str, Any], vocabulary: int) -> dict[str, Any]:
    """The ids that begin, end and pad a text, by Hugging Face's names; those that the file does not state are absent.

    Args:
        metadata: of the GGUF file
        vocabulary: how many tokens there are

    Raises:
        InputError: an id outside the vocabulary
    """
    stated: dict[str, int] = {}
    for name, key in (("bos", "bos"), ("eos", "eos"), ("eot", "eot"), ("pad", "padding"), ("unk", "unknown")):
        number = metadata.get(f"tokenizer.ggml.{key}_token_id")
        if number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < vocabulary:
            raise InputError(f"tokenizer.ggml.{key}_token_id must be a token id below {vocabulary}, got {got(number)}")
        stated[name] = number
    ends = list(dict.fromkeys(stated[name] for name in ("eos", "eot") if name in stated))
    ids: dict[str, Any] = {f"{name}_token_id": stated[name] for name in ("bos", "pad") if name in stated}
    if ends:
        ids["eos_token_id"] = ends[0] if len(ends) == 1 else ends
    return ids


def _maximum_length(gguf: GgufFile, spec: Spec) -> int:
    """`max_position_embeddings`: the length before linear and dynamic scaling, and after every other."""
    before = isinstance(spec.group.stretch, (Linear, DynamicNtk))
    length = spec.window.trained if before else spec.window.declared
    if length is None:
        raise InputError(f"{gguf.path} does not say {'the length before scaling' if before else 'its context length'}")
    return length


class _Reader:
    """Values of one architecture's keys, each checked as it is read."""

    def __init__(self, gguf: GgufFile, architecture: str) -> None:
        self.gguf, self.architecture = gguf, architecture

    def value(self, key: str) -> Any:
        full = f"{self.architecture}.{key}"
        if full not in self.gguf.metadata:
            raise InputError(f"{self.gguf.path}: key {full} is missing")
        return self.gguf.metadata[full]

    def integer(self, key: str, default: int | None = None) -> int:
        full = f"{self.architecture}.{key}"
        if default is not None and full not in self.gguf.metadata:
            return default
        return positive_integer(f"{self.gguf.path}: {full}", self.value(key))

    def shape(self, tensor: str, dimensions: int) -> tuple[int, ...]:
        if tensor not in self.gguf.tensors:
            raise InputError(f"{self.gguf.path}: tensor {tensor} is missing")
        shape = self.gguf.tensors[tensor].shape
        if len(shape) != dimensions:
            raise InputError(f"{self.gguf.path}: tensor {tensor} must have {dimensions} dimensions, got {shape}")
        return shape
