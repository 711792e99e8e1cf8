"""From a GGUF file's metadata and factor tensors to a spec."""

from ordinate.dialects.llama_cpp.architectures import Architecture, architecture
from ordinate.dialects.llama_cpp.groups import rotating_groups
from ordinate.dialects.llama_cpp.keys import MAXIMUM_LENGTH, Keys
from ordinate.dialects.llama_cpp.layers import read_layers
from ordinate.dialects.llama_cpp.others import POSITION_TABLE, other_groups
from ordinate.errors import InputError, got
from ordinate.files.gguf import GgufFile
from ordinate.schemes.none import NoPosition
from ordinate.spec import LayerGroup, Spec, Window

# Baichuan's 13B models have ALiBi and its 7B models RoPE; only the number of layers tells them apart.
BAICHUAN_ALIBI_LAYERS = 40


def read(gguf_file: GgufFile, *, name: str) -> Spec:
    """Say what the model in a GGUF file does with position.

    What the file says of the model counts, not what llama.cpp makes of it: where the two part, a warning says so.
    Which channels form a pair is not in the file, and follows from its architecture: a Llama is interleaved here
    (its converter permutes the rows of q and k) and half in a Hugging Face checkpoint. Numbers stored in float32
    are read as the shortest decimals that they stand for.

    Args:
        gguf_file: the file, its header read
        name: what the spec calls the model

    Raises:
        InputError: no language model, a value out of range, or a setting that is not understood

    Source: llama.cpp (ggml 0.25): llama-model.cpp, models/, conversion/; the GGUF specification.
    """
    word = _architecture_name(gguf_file)
    keys = Keys(gguf_file, word)
    known = architecture(word)
    if known is None:
        known = _guess(keys)
        keys.warn(f"architecture {word} is in no table here: that its scheme is {known.scheme} is told by its keys")
    declared = keys.integer("context_length", most=MAXIMUM_LENGTH)
    keys.sources["window.trained"] = keys.sources["window.declared"] = (
        keys.full("context_length") if declared else "not in the file"
    )
    if declared is None:
        keys.warn(f"the file does not say how long its context is: {keys.full('context_length')} is absent")
    window = Window(declared, declared)
    if known.scheme == "recurrent":
        count = keys.integer("block_count")
        keys.warn(f"{word} has no attention: position enters it by recurrence")
        groups = {"full_attention": LayerGroup("full_attention", NoPosition(), layers=())}
    else:
        layers = read_layers(keys, known)
        count = layers.count
        if known.scheme == "rope" and not (word == "baichuan" and count == BAICHUAN_ALIBI_LAYERS):
            groups, window = rotating_groups(keys, known, layers, declared)
        else:
            groups = other_groups(keys, known, layers, declared)
    for key in keys.unread("rope."):
        keys.warn(f"{key} was not used")
    return Spec(name, word, "gguf", groups, window, count, dict(keys.sources), tuple(keys.warnings))


def _architecture_name(file: GgufFile) -> str:
    """The architecture, where the file holds a language model."""
    key = "general.architecture"
    word, kind, part = (file.metadata.get(name) for name in (key, "general.type", "split.no"))
    if word is None and part:
        raise InputError(f"{file.path} is a further part of a split model, and its first part has the metadata")
    if word is None:
        raise InputError(f"{file.path} has no {key}, and must hold a language model")
    if not isinstance(word, str) or not word.isprintable() or not 0 < len(word) <= 64:
        raise InputError(f"{file.path}: {key} must be a word, got {got(word)}")
    if kind not in (None, "model") or word == "clip":
        raise InputError(f"{file.path} must hold a language model, and holds: {got(kind or word)}")
    return word


def _guess(keys: Keys) -> Architecture:
    """What an architecture that is in no table does, by the keys and tensors that only one scheme has."""
    if (keys.number("attention.max_alibi_bias") or 0) > 0:
        return Architecture("alibi")
    if keys.get("attention.relative_buckets_count") is not None:
        return Architecture("t5")
    if any(key.startswith(keys.full("rope.")) for key in keys.file.metadata):
        return Architecture("rope")
    if POSITION_TABLE in keys.file.tensors:
        return Architecture("learned")
    raise InputError(
        f"{keys.file.path}: architecture {keys.architecture!r} is not known, and none of its keys tells what it does "
        "with position"
    )
