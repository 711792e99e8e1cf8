"""Weights as files have them: every tensor's name, type and shape from the headers."""

import re
from pathlib import Path

from ordinate.errors import InputError
from ordinate.files.gguf import read_gguf
from ordinate.files.json import read_json
from ordinate.files.safetensors import read_header
from ordinate.files.weight_files import INDEX, SINGLE, weight_files
from ordinate.plan.weights.part import Cut, Part, Parts, Place

# Mistral's own name for it.
_SINGLES = (SINGLE, "consolidated.safetensors")
_LAYER = re.compile(r"(?:^|\.)(?:layers|layer|h|blocks|block|blk)\.(\d+)\.")
_KEY_VALUE = re.compile(r"(?:^|[._])(?:k_proj|v_proj|kv_proj|attn_k|attn_v|key|value)\.(?:weight|bias)$")
# Queries, keys and values in one matrix.
_FUSED = re.compile(
    r"(?:^|[._])(?:query_key_value|qkv_proj|qkv|c_attn|attn_qkv|W_?qkv|wqkv|W_pack)\.(?:weight|qweight)$"
)
# Where several heads share it, or all of it is needed to choose experts or places.
_WHOLE = re.compile(
    r"kv_a_proj|q_a_proj|attn_kv_a|attn_q_a|position|wpe|token_types|router|mlp\.gate\.|ffn_gate_inp|indexer|norm|ln_"
)
_HEAD = re.compile(r"(?:^|\.)(?:lm_head|output|embed_out)\.")
_EMBEDDING = re.compile(r"embed|wte|wpe|shared\.weight")


def stored(directory: Path | None, file: Path | None) -> Parts | None:
    """The weights of a GGUF file, or of the safetensors files of a directory; None where it has none.

    Where a directory has an index and not all of the files it names, the index says how many bytes there are in all.

    Raises:
        InputError: a header is damaged
    """
    if file is not None:
        return _gguf(file)
    if directory is None:
        return None
    single = next((directory / name for name in _SINGLES if (directory / name).is_file()), None)
    if single is None and not (directory / INDEX).is_file():
        return None
    names = weight_files(directory) if single is None else [single]
    if not all(name.is_file() for name in names):
        return _indexed(directory / INDEX)
    parts, types = [], set()
    for name in names:
        for tensor in read_header(name).tensors.values():
            types.add(tensor.dtype)
            parts.append(_part(tensor.name, tensor.shape, tensor.end - tensor.start))
    return Parts(tuple(parts), types.pop() if len(types) == 1 else None, "the headers of the safetensors files")


def _gguf(file: Path) -> Parts:
    found = read_gguf(file)
    types = {tensor.type_name for tensor in found.tensors.values()}
    parts = tuple(_part(tensor.name, tensor.shape, tensor.nbytes) for tensor in found.tensors.values())
    return Parts(parts, types.pop() if len(types) == 1 else None, "the header of the GGUF file")


def _indexed(index: Path) -> Parts:
    metadata = read_json(index, name=str(index)).get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(total, bool) or not isinstance(total, int | float) or not 0 < total < 2**60:
        raise InputError(f"{index}: the files that it names are not here, and it has no metadata.total_size")
    return Parts((Part("all", 0, "every", "even", float(total)),), None, "metadata.total_size of the index")


def _part(name: str, shape: tuple[int, ...], size: int) -> Part:
    numbers = 1
    for extent in shape:
        numbers *= extent
    layer = _LAYER.search(name)
    place: Place = int(layer[1]) if layer else "last" if _HEAD.search(name) else "first"
    if layer is None and not _HEAD.search(name) and not _EMBEDDING.search(name):
        place = "last"  # the norm before the output
    return Part(name, numbers, place, _cut(name, shape), float(size))


def _cut(name: str, shape: tuple[int, ...]) -> Cut:
    # DBRX's attention and its norms are one module, which is in the names of both.
    if _WHOLE.search(name.replace("norm_attn_norm", "block")) or len(shape) < 2:
        return "whole"
    if _FUSED.search(name):
        return "fused"
    return "key_value" if _KEY_VALUE.search(name) else "even"
