"""Which layers have a window, rotate, or have no attention at all."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ordinate.dialects.huggingface.hybrid import hybrid_types
from ordinate.dialects.huggingface.keys import MAXIMUM_LAYERS, MAXIMUM_LENGTH, Keys, whole
from ordinate.dialects.huggingface.parameters import Parameters
from ordinate.errors import InputError, finite, got
from ordinate.registry import suggestion

WITHOUT_ATTENTION = ("linear_attention", "conv", "moe", "mlp", "recurrent")
ATTENTION = (
    *("full_attention", "sliding_attention", "chunked_attention", "window_attention", "indexed_attention"),
    *("compressed_sparse_attention", "heavily_compressed_attention", "minimax_m3_sparse", "hybrid", "hybrid_sliding"),
    "reference_sliding_attention",
)
RENAMED = {
    "attention": "full_attention",
    "mamba": "linear_attention",
    "mamba2": "linear_attention",
    "deepseek_sparse_attention": "indexed_attention",
    "qwen_sparse_attention": "indexed_attention",
}
NOT_ROTATING = "_without_position"
"""Added to a layer type's name for those of its layers that do not rotate, where others do."""

UNUSED = "unused"
"""The group of rotary settings that no layer has."""


@dataclass(frozen=True)
class Kind:
    """Layers that treat position alike.

    Args:
        name: the group's name, Hugging Face's layer type
        layer_type: what the configuration calls them, "" where it has no word
        settings: the name of their rotary settings, or None where they do not rotate
        layers: their numbers, or None where the configuration does not say
        base: of their frequencies, where it is not that of the settings
    """

    name: str
    layer_type: str
    settings: str | None
    layers: tuple[int, ...] | None
    base: float | None = None


def read_layers(keys: Keys, sets: Mapping[str, Parameters | None]) -> tuple[list[Kind], int | None]:
    """Sort the layers by what they do.

    Args:
        keys: the configuration
        sets: its rotary settings by layer type, "" where they are the same for all; empty where nothing rotates

    Returns:
        the kinds of layers in the order in which they first occur, and how many layers there are

    Raises:
        InputError: a list has no entry for each layer, an unknown layer type, or one that has no rotary settings
    """
    count = keys.integer("num_hidden_layers", most=MAXIMUM_LAYERS)
    types, source = _types(keys, count)
    if types is None:
        return _untyped(keys, sets, count), count
    keys.sources["layers"] = source
    silent = sum(t in WITHOUT_ATTENTION for t in types)
    if silent:
        keys.warn(
            f"{silent} of {len(types)} layers have no attention, and are in no group: position enters them by "
            "recurrence or convolution"
        )
    groups: dict[Kind, list[int]] = {}
    rotates, bases = _rotating(keys, types), _bases(keys, len(types))
    for i, layer_type in enumerate(types):
        if layer_type not in WITHOUT_ATTENTION:
            settings, base = _settings(keys, sets, layer_type, rotates[i], bases[i])
            name, word = _labelled(keys, layer_type)
            groups.setdefault(Kind(name, word, settings, None, base), []).append(i)
    kinds = [replace(kind, layers=tuple(members)) for kind, members in groups.items()]
    return _named(kinds) + _unused(keys, sets, kinds), len(types)


def _labelled(keys: Keys, layer_type: str) -> tuple[str, str]:
    """The name of a layer type's settings, and a layer type that stands for all that share them."""
    for label, members in keys.known.labels.items():
        if layer_type in members:
            return label, members[0]
    return layer_type, layer_type


def _untyped(keys: Keys, sets: Mapping[str, Parameters | None], count: int | None) -> list[Kind]:
    """The kinds of a configuration that says nothing of layer types."""
    if sets and "" not in sets:
        keys.warn("the configuration does not say which layers are of which type")
        return [Kind(name, name, None if entry is None else name, None) for name, entry in sets.items()]
    if count is None:
        return [Kind("full_attention", "", "" if sets else None, None)]
    groups: dict[Kind, list[int]] = {}
    rotates, bases = _rotating(keys, [""] * count), _bases(keys, count)
    for i in range(count):
        settings, base = _settings(keys, sets, "", rotates[i], bases[i])
        groups.setdefault(Kind("full_attention", "", settings, None, base), []).append(i)
    kinds = [replace(kind, layers=tuple(members)) for kind, members in groups.items()]
    return _named(kinds) + _unused(keys, sets, kinds)


def _named(kinds: list[Kind]) -> list[Kind]:
    """Tell apart the kinds that share a name."""
    named = []
    for kind in kinds:
        others = [k for k in kinds if k.name == kind.name and k is not kind]
        name = kind.name
        if others and kind.settings is None:
            name += NOT_ROTATING
        elif any(k.settings is not None for k in others):
            name += "" if kind.base is None else f"_base_{kind.base:g}"
        named.append(replace(kind, name=name))
    return named


def _unused(keys: Keys, sets: Mapping[str, Parameters | None], kinds: list[Kind]) -> list[Kind]:
    """Rotary settings that no layer has: they stand in the configuration, so they are kept, without layers."""
    kept = []
    taken = {kind.name for kind in kinds}
    for name, entry in sets.items():
        if entry is not None and name not in {kind.settings for kind in kinds}:
            keys.warn(
                f"no layer uses the rotary settings{f' for {name}' if name else ''}: they are shown without layers"
            )
            label = name or ("" if kinds else "full_attention")
            if not label or label in taken:
                label = f"{UNUSED}_{label}" if label else UNUSED
            kept.append(Kind(label, label, name, ()))
    return kept


def _types(keys: Keys, count: int | None) -> tuple[list[str] | None, str]:
    """The type of each layer, or None where the configuration and its architecture have one for all."""
    for key in ("layer_types", "layers_block_type"):
        found = keys.found(key)
        if found.value is not None:
            return _listed(keys, found.key, found.value, count), found.source
    indices = keys.given("attn_layer_indices")
    if count is None:
        return None, ""
    mixed = hybrid_types(keys, count)
    if mixed is not None:
        types, key = mixed
        return types, keys.where(key) if keys.given(key) is not None else keys.assumed(key)
    if isinstance(indices, list):
        chosen = {
            whole(keys.label("attn_layer_indices"), i + 1 if isinstance(i, int) else i, count) - 1 for i in indices
        }
        return ["full_attention" if i in chosen else "linear_attention" for i in range(count)], "attn_layer_indices"
    from_layer = keys.integer("max_window_layers", most=MAXIMUM_LAYERS)
    if keys.get("use_sliding_window") is True and from_layer is not None and keys.get("sliding_window") is not None:
        types = ["sliding_attention" if i >= from_layer else "full_attention" for i in range(count)]
        return types, keys.found("max_window_layers").source
    if keys.known.rotates == "no_rope_layers" and "chunked_attention" in (keys.known.pattern or ()):
        chunked = keys.get("attention_chunk_size") is not None
        rotates = _without_rope(keys, count)
        return ["chunked_attention" if r and chunked else "full_attention" for r in rotates], "no_rope_layers"
    return _implied(keys, count)


def _listed(keys: Keys, key: str, value: Any, count: int | None) -> list[str]:
    label = keys.label(key)
    if not isinstance(value, list | tuple) or not all(isinstance(t, str) for t in value):
        raise InputError(f"{label} must be a list of layer types, got {got(value)}")
    types = [RENAMED[t] if t in RENAMED else str(t) for t in value]
    for layer_type in types:
        if layer_type not in (*ATTENTION, *WITHOUT_ATTENTION):
            raise InputError(f"{label}: unknown layer type {got(layer_type)}{suggestion(layer_type, ATTENTION)}")
    if count is not None and len(types) != count:
        # Dory prints its feed-forward layers among the others.
        types = [t for t in types if t != "mlp"]
    if count is not None and len(types) != count:
        raise InputError(f"{label} must have an entry for each of {count} layers, got {len(value)}")
    return types


def _implied(keys: Keys, count: int) -> tuple[list[str] | None, str]:
    """The layer types that the architecture gives a configuration without a list."""
    known, source = keys.known, keys.assumed("layer_types")
    if known.layers is not None:
        if len(known.layers) == count:
            return [t for t in known.layers if t != "mlp"], source
        keys.warn(f"{keys.model_type} does not imply which of {count} layers are of which type, and no list is given")
        return None, ""
    pattern = known.pattern
    if pattern is None:
        return None, ""
    if known.interval and keys.given(known.interval) is not None:
        period = whole(keys.label(known.interval), keys.given(known.interval), MAXIMUM_LAYERS)
        full_first = pattern[0] != pattern[1 % len(pattern)] and pattern[-1] == pattern[1 % len(pattern)]
        common, rare = (pattern[-1], pattern[0]) if full_first else (pattern[0], pattern[-1])
        pattern = [common] * (period - 1)
        pattern.insert(0 if full_first else period - 1, rare)
        source = keys.where(known.interval)
    if "sliding_window" in keys.config and keys.config["sliding_window"] is None:
        pattern = ["full_attention" if layer_type == "sliding_attention" else layer_type for layer_type in pattern]
    shift = -count % len(pattern) if known.from_end else 0
    types: list[str] = [pattern[(i + shift) % len(pattern)] for i in range(count)]
    if known.last:
        types[-1] = known.last
    return types, source


def _settings(
    keys: Keys, sets: Mapping[str, Parameters | None], layer_type: str, rotates: bool, base: float | None
) -> tuple[str | None, float | None]:
    """Which rotary settings a layer has (None: it does not rotate), and its own base where it has one."""
    if not sets:
        return None, None
    name = "" if "" in sets else _labelled(keys, layer_type)[0]
    if name not in sets:
        raise InputError(
            f"{keys.label('rope_parameters')} has no settings for layer type {layer_type!r}, only for {', '.join(sets)}"
        )
    entry = sets[name]
    if entry is None or not rotates or base == 0:
        return None, None
    return name, None if base == entry.values.get("rope_theta") else base


def _rotating(keys: Keys, types: list[str]) -> list[bool]:
    """Whether each layer rotates, where rotary settings alone do not say."""
    rule, count = keys.known.rotates, len(types)
    if rule in ("sliding", "sliding if any"):
        everywhere = rule == "sliding if any" and keys.get("sliding_window") is None
        return [everywhere or layer_type == "sliding_attention" for layer_type in types]
    if rule == "no_rope_layers":
        return _without_rope(keys, count)
    if rule == "layer_rope_theta" and keys.known.nope_from_end and keys.given("layer_rope_theta") is None:
        return [(count - 1 - i) % 4 != 0 for i in range(count)]
    return [rule != "use_mem_rope" or bool(keys.flag("use_mem_rope"))] * count


def _bases(keys: Keys, count: int) -> list[float] | list[None]:
    """The base of each layer, 0 where it does not rotate, of architectures that list them."""
    if keys.known.rotates != "layer_rope_theta" or keys.given("layer_rope_theta") is None:
        return [None] * count
    return _numbers(keys, "layer_rope_theta", count)


def _without_rope(keys: Keys, count: int) -> list[bool]:
    """`no_rope_layers`, in which 1 is a layer that rotates; else every fourth layer does not."""
    if keys.given("no_rope_layers"):
        keys.given("no_rope_layer_interval")  # what the list was made from: SmolLM3's files have both
        return [bool(value) for value in _numbers(keys, "no_rope_layers", count)]
    interval = keys.integer("no_rope_layer_interval", most=MAXIMUM_LAYERS) or 4
    return [(i + 1) % interval != 0 for i in range(count)]


def _numbers(keys: Keys, key: str, count: int) -> list[float]:
    """A list of one number >= 0 for each layer."""
    values = keys.given(key)
    if not isinstance(values, list | tuple) or len(values) != count:
        raise InputError(f"{keys.label(key)} must have an entry for each of {count} layers, got {got(values)}")
    numbers = [finite(f"{keys.label(key)}[{i}]", int(v) if isinstance(v, bool) else v) for i, v in enumerate(values)]
    if min(numbers) < 0:
        raise InputError(f"{keys.label(key)} must have numbers >= 0, got {min(numbers):g}")
    return numbers


def read_window(keys: Keys, layer_type: str) -> tuple[int | None, str]:
    """How many tokens a query sees in layers of this type ("" where it has no word), and where that is from."""
    if layer_type == "chunked_attention":
        size = keys.integer("attention_chunk_size", most=MAXIMUM_LENGTH)
        if size is not None:
            keys.warn(f"the window of {size} tokens is a chunk that starts anew, not one that slides")
        return size, keys.found("attention_chunk_size").source
    if (layer_type and "sliding" not in layer_type) or keys.get("use_sliding_window") is False:
        return None, ""
    key = "local_attention" if layer_type and keys.get("sliding_window") is None else "sliding_window"
    if keys.get(key) in (None, -1, 0):
        return None, ""
    return keys.integer(key, most=MAXIMUM_LENGTH), keys.found(key).source
