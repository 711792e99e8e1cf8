"""The shape of attention in a GGUF file: heads, their widths, MLA's latent, and the softmax scale."""

import math
from dataclasses import dataclass

from ordinate.dialects.llama_cpp.architectures import Architecture
from ordinate.dialects.llama_cpp.keys import MAXIMUM_WIDTH, Keys
from ordinate.dialects.llama_cpp.layers import Kind
from ordinate.errors import InputError, positive
from ordinate.spec import Heads


@dataclass(frozen=True)
class Shape:
    """Attention's shape in some layers.

    Args:
        heads: as the spec has it, or None where the layers differ
        head_dim: channels of a query or key head, or None where the file does not say
        latent: attention is MLA
    """

    heads: Heads | None
    head_dim: int | None
    latent: bool


def read_shape(keys: Keys, count: int, kind: Kind) -> Shape:
    """Read the shape of attention in one kind of `count` layers.

    Raises:
        InputError: a number that is out of range, or no heads in a layer with attention
    """
    query = keys.integers("attention.head_count", count, most=MAXIMUM_WIDTH)
    key_value = keys.integers("attention.head_count_kv", count, most=MAXIMUM_WIDTH) or query
    latent = keys.integer("attention.kv_lora_rank", most=MAXIMUM_WIDTH)
    key_dim = _width(keys, "attention.key_length", local=kind.local)
    value_dim = _width(keys, "attention.value_length", local=kind.local)
    # An MLA file has the widths after absorption under the plain keys, and the heads' own under these.
    if latent is not None:
        key_dim = keys.integer("attention.key_length_mla", most=MAXIMUM_WIDTH) or key_dim
        value_dim = keys.integer("attention.value_length_mla", most=MAXIMUM_WIDTH) or value_dim
    width = keys.integer("embedding_length", most=2**24)
    shapes = {(query[i], key_value[i]) for i in kind.layers} if query and key_value else set()
    if width and shapes and (key_dim is None or value_dim is None):
        most = max(shapes)[0]
        if most and width % most == 0:
            if width // most > MAXIMUM_WIDTH:
                raise InputError(
                    f"{keys.label('embedding_length')} gives heads of {width // most} channels, at most "
                    f"{MAXIMUM_WIDTH} are read"
                )
            key_dim, value_dim = key_dim or width // most, value_dim or width // most
    if len(shapes) > 1:
        keys.warn(f"the number of heads differs from layer to layer: {_listed(shapes)} (query, key-value)")
    if len(shapes) != 1 or key_dim is None or value_dim is None:
        return Shape(None, key_dim, latent is not None)
    ((queries, pairs),) = shapes
    if not queries or not pairs:
        raise InputError(f"{keys.label('attention.head_count')} must be >= 1 in layers with attention, got {queries}")
    rotary = keys.integer("rope.dimension_count", most=MAXIMUM_WIDTH) if latent is not None else None
    # In such a file head_count_kv is 1, because the latent is shared; each head has a key of its own all the same.
    heads = Heads(queries, queries if latent else pairs, key_dim, value_dim, latent, rotary)
    return Shape(heads, key_dim, latent is not None)


def softmax_scale(keys: Keys, known: Architecture, shape: Shape, count: int, factor: float | None) -> float | None:
    """What multiplies q k, or None for 1 / sqrt(head_dim).

    Args:
        keys: the file's metadata
        known: what its architecture implies
        shape: of attention
        count: how many layers the model has
        factor: YaRN's, where the frequencies are stretched by it
    """
    given = keys.number("attention.scale")
    if given:
        return positive(keys.label("attention.scale"), given)
    if known.softmax == "one":
        return 1.0
    if shape.head_dim is None:
        return None
    if known.softmax == "inverse":
        return 1 / shape.head_dim
    if known.wide_at == count and shape.heads is not None:
        width = keys.integer("embedding_length")
        return None if width is None else 1 / math.sqrt(width // shape.heads.query)
    log = keys.number("rope.scaling.yarn_log_multiplier")
    if known.tenth and log and factor is not None and factor > 1:
        return (log * math.log(factor) + 1) ** 2 / math.sqrt(shape.head_dim)
    return None


def _width(keys: Keys, name: str, *, local: bool) -> int | None:
    own = keys.integer(f"{name}_swa", most=MAXIMUM_WIDTH) if local else None
    return own or keys.integer(name, most=MAXIMUM_WIDTH)


def _listed(shapes: set[tuple[int, int]]) -> str:
    shown = sorted(shapes)
    return ", ".join(map(str, shown[:6])) + (" ..." if len(shown) > 6 else "")
