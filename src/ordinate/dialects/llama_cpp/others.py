"""Layer groups of a GGUF file's model that do not rotate: learned positions, ALiBi, T5's bias, or none."""

from ordinate.dialects.llama_cpp.architectures import Architecture
from ordinate.dialects.llama_cpp.groups import group
from ordinate.dialects.llama_cpp.keys import MAXIMUM_LAYERS, MAXIMUM_WIDTH, Keys
from ordinate.dialects.llama_cpp.layers import Kind, Layers
from ordinate.dialects.llama_cpp.shape import read_shape
from ordinate.errors import InputError, positive
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.base import Scheme
from ordinate.schemes.learned import LearnedPositions
from ordinate.schemes.none import NoPosition
from ordinate.schemes.t5 import T5
from ordinate.spec import LayerGroup

POSITION_TABLE = "position_embd.weight"
# No file says it; llama.cpp has this number, and so has every released T5.
T5_MAX_DISTANCE = 128
MAXIMUM_POSITIONS = 2**24


def other_groups(keys: Keys, known: Architecture, layers: Layers, declared: int | None) -> dict[str, LayerGroup]:
    """The groups of an architecture that does not rotate.

    Args:
        keys: the file's metadata
        known: what its architecture implies
        layers: its layers by what they do
        declared: `context_length`, [token]

    Raises:
        InputError: what the scheme needs is missing or out of range
    """
    if known.scheme == "t5":
        return _t5(keys, known, layers)
    encoding = NoPosition() if known.scheme == "none" else _scheme(keys, known, layers, declared)
    return {kind.name: _plain_group(keys, known, layers, kind, encoding) for kind in layers.kinds}


def _plain_group(keys: Keys, known: Architecture, layers: Layers, kind: Kind, encoding: Scheme) -> LayerGroup:
    shape = read_shape(keys, layers.count, kind)
    return group(keys, known, layers, kind, shape, encoding, scaling=None, pairing=None)


def _scheme(keys: Keys, known: Architecture, layers: Layers, declared: int | None) -> Scheme:
    if known.scheme == "learned":
        return _learned(keys, declared)
    name = "attention.max_alibi_bias"
    bias_max, source = keys.number(name), keys.full(name)
    # Baichuan is in the table as rotating, and has ALiBi in its larger model.
    default = 8.0 if known.scheme == "rope" else known.bias_max
    if bias_max is None and default is not None:
        bias_max, source = default, f"assumed {default:g}, the architecture's: {source} absent"
    if bias_max:
        keys.sources["bias_max"] = source
        return Alibi(_heads(keys, layers), positive(keys.label(name), bias_max))
    if POSITION_TABLE in keys.file.tensors:
        return _learned(keys, declared)
    keys.warn(f"{keys.full(name)} is absent or 0, and the file has no {POSITION_TABLE}: the model has no position")
    return NoPosition()


def _learned(keys: Keys, declared: int | None) -> LearnedPositions:
    width = keys.integer("embedding_length", most=MAXIMUM_WIDTH)
    if POSITION_TABLE in keys.file.tensors:
        shape = keys.file.tensors[POSITION_TABLE].shape
        if len(shape) != 2 or shape[0] > MAXIMUM_POSITIONS or shape[1] > MAXIMUM_WIDTH:
            raise InputError(f"{keys.file.path}: {POSITION_TABLE} must have shape (positions, width), got {shape}")
        keys.sources["table"] = POSITION_TABLE
        if declared is not None and declared > shape[0]:
            keys.warn(f"the file promises {declared} tokens, and its table has {shape[0]} positions")
        return LearnedPositions(length=shape[0], dim=shape[1])
    if declared is None or width is None or declared > MAXIMUM_POSITIONS:
        raise InputError(
            f"{keys.file.path} has no {POSITION_TABLE}, and {keys.full('context_length')} with "
            f"{keys.full('embedding_length')} does not give its size"
        )
    keys.sources["table"] = f"{keys.full('context_length')}, {keys.full('embedding_length')}"
    return LearnedPositions(length=declared, dim=width)


def _t5(keys: Keys, known: Architecture, layers: Layers) -> dict[str, LayerGroup]:
    """The encoder's group, where keys on both sides have buckets, and the decoder's."""
    name = "attention.relative_buckets_count"
    buckets = keys.integer(name, most=MAXIMUM_WIDTH)
    if buckets is None:
        raise InputError(f"{keys.label(name)} is missing")
    keys.sources["buckets"] = keys.full(name)
    keys.sources["max_distance"] = f"assumed {T5_MAX_DISTANCE}, as in every T5: not in GGUF files"
    heads = _heads(keys, layers)
    counts = {"encoder": layers.count}
    if keys.architecture != "t5encoder":
        counts["decoder"] = keys.integer("decoder_block_count", most=MAXIMUM_LAYERS) or layers.count
    groups = {}
    for stack, count in counts.items():
        bias = T5(buckets, T5_MAX_DISTANCE, bidirectional=stack == "encoder", heads=heads)
        kind = Kind(stack, tuple(range(count)))
        shape = read_shape(keys, layers.count, layers.kinds[0])
        groups[stack] = group(keys, known, layers, kind, shape, bias, scaling=None, pairing=None)
    return groups


def _heads(keys: Keys, layers: Layers) -> int:
    heads = keys.integers("attention.head_count", layers.count, most=MAXIMUM_WIDTH)
    if heads is None or not max(heads):
        raise InputError(f"{keys.label('attention.head_count')} is missing or 0")
    return max(heads)
