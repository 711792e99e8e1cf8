"""From a Hugging Face configuration to a spec."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ordinate.dialects.huggingface.architectures import Architecture, architecture
from ordinate.dialects.huggingface.keys import MAXIMUM_LAYERS, Keys, shown
from ordinate.dialects.huggingface.layers import UNUSED, Kind, read_layers, read_window
from ordinate.dialects.huggingface.parameters import ROTARY_KEYS, Parameters, read_parameters
from ordinate.dialects.huggingface.rotary import read_pairing, read_rotary
from ordinate.dialects.huggingface.shape import Shape, read_shape, softmax_scale
from ordinate.dialects.huggingface.stretching import Stretch, read_stretch
from ordinate.dialects.huggingface.unrotated import Unrotated, read_unrotated, refuse
from ordinate.errors import InputError, got
from ordinate.schemes.none import NoPosition
from ordinate.spec import LayerGroup, Pairing, Spec, Window
from ordinate.temperature import QueryTemperature

TEXT_KEYS = ("text_config", "llm_config", "language_config", "thinker_config", "decoder", "text_model_config")
MAXIMUM_DEPTH = 4
MAXIMUM_WORD = 100


def read(config: Mapping[str, Any], *, name: str) -> Spec:
    """Say what a model does with position, from its Hugging Face configuration alone, in v4 or v5 spelling.

    What is read is what transformers 5.24 makes of the configuration, with its defaults; where it overlooks a setting,
    or engines disagree, a warning says so. No code is run: an `auto_map` is reported, not followed.

    Args:
        config: the configuration, as parsed JSON
        name: what the spec calls the model, and what messages call the configuration

    Raises:
        InputError: nothing in it says how the model knows position, or a value is out of range or contradicts another

    Source: transformers 5.24, modeling_rope_utils.py and the configurations and models of each architecture.
    """
    if not isinstance(config, Mapping):
        raise InputError(f"{name}: a configuration must be an object, got {got(config)}")
    try:
        return _read(language_keys(name, config), config)
    except InputError as error:
        # Schemes and methods name the setting, and not whose it is.
        if str(error).startswith(f"{name}: "):
            raise
        raise InputError(f"{name}: {error}") from None


def _read(keys: Keys, config: Mapping[str, Any]) -> Spec:
    if "auto_map" in config or "auto_map" in keys.config:
        keys.warn(f"auto_map names repository code ({_code(config, keys)}), which is reported, not followed")
    shape: partial[Shape] = partial(read_shape, keys)
    other = read_unrotated(keys, shape)
    if other is not None:
        groups, window, count = _unrotated_groups(keys, other)
    elif keys.known.theta is not None or any(keys.given(key) is not None for key in ROTARY_KEYS):
        groups, window, count = _rotating_groups(keys)
    else:
        raise refuse(keys)
    for key in keys.unread():
        keys.warn(f"{keys.prefix}{shown(key)} is in the configuration and was not used")
    word = keys.model_type or "unknown"
    return Spec(keys.name, word, "huggingface", groups, window, count, keys.sources, tuple(keys.warnings))


def language_keys(name: str, config: Mapping[str, Any]) -> Keys:
    """The keys of the language model: those of a part where the configuration is of several.

    Args:
        name: what messages call the configuration
        config: the whole of it

    Raises:
        InputError: a model type that is no short string, or a part that is no object
    """
    prefix, model_type = "", ""
    for _ in range(MAXIMUM_DEPTH):
        model_type = _model_type(name, prefix, config) or model_type
        known = _recognised(model_type, config)
        key, part_type = known.text if known is not None and known.text is not None else ("", "")
        if known is not None and (known.theta is not None or not key):
            return Keys(name, config, model_type, known, prefix)
        key = key or next((k for k in TEXT_KEYS if isinstance(config.get(k), Mapping)), "")
        part = config.get(key)
        if known is None and (not key or any(config.get(k) is not None for k in ROTARY_KEYS)):
            return Keys(name, config, model_type, None, prefix)
        if isinstance(part, Mapping):
            prefix, config, model_type = f"{prefix}{key}.", part, part_type
        elif part is None:
            # Older configurations have the language model's keys beside those of the whole.
            model_type, config = part_type, {k: v for k, v in config.items() if k != "model_type"}
            if architecture(model_type) is None:
                return Keys(name, config, model_type, None, prefix)
        else:
            raise InputError(f"{name}: {prefix}{key} must be an object, got {got(part)}")
    raise InputError(f"{name}: configurations within configurations go deeper than {MAXIMUM_DEPTH}")


def _model_type(name: str, prefix: str, config: Mapping[str, Any]) -> str:
    value = config.get("model_type")
    if value is not None and not isinstance(value, str):
        raise InputError(f"{name}: {prefix}model_type must be a string, got {got(value)}")
    if value is not None and len(value) > MAXIMUM_WORD:
        raise InputError(f"{name}: {prefix}model_type must be at most {MAXIMUM_WORD} characters, got {len(value)}")
    return value or ""


def _recognised(model_type: str, config: Mapping[str, Any]) -> Architecture | None:
    known = architecture(model_type)
    return None if known is None or not config.keys() >= set(known.marks) else known


def _code(config: Mapping[str, Any], keys: Keys) -> str:
    value = config.get("auto_map", keys.config.get("auto_map"))
    entries = value.values() if isinstance(value, Mapping) else [value]
    return got(", ".join(str(entry) for entry in entries)).strip("'\"")


def _unrotated_groups(keys: Keys, other: Unrotated) -> tuple[dict[str, LayerGroup], Window, int | None]:
    count = keys.integer("num_hidden_layers", most=MAXIMUM_LAYERS)
    keys.sources |= other.sources
    heads = None
    if any(keys.get(key) is not None for key in ("num_attention_heads", "head_dim")):
        heads = read_shape(keys).heads
    layers, windows, schemes = {}, {}, dict(other.groups)
    if len(other.groups) == 1:
        kinds, listed = read_layers(keys, {})
        count = listed if count is None else count
        (name, scheme) = next(iter(other.groups.items()))
        if any("sliding" in kind.layer_type for kind in kinds):
            schemes = {kind.name: scheme for kind in kinds}
            layers = {kind.name: kind.layers for kind in kinds}
            windows = {kind.name: read_window(keys, kind.layer_type) for kind in kinds}
            keys.sources |= {f"{kind}.sliding_window": source for kind, (window, source) in windows.items() if window}
        else:
            attending = [i for kind in kinds for i in kind.layers or ()]
            layers = {name: tuple(sorted(attending)) if count is not None else None}
    groups = {
        name: LayerGroup(
            name,
            scheme,
            layers=layers.get(name),
            heads=heads,
            sliding_window=windows.get(name, (None, ""))[0],
            softmax_scale=_scale(keys),
        )
        for name, scheme in schemes.items()
    }
    keys.sources["window.declared"] = keys.sources["window.trained"] = keys.found("max_position_embeddings").source
    groups |= _unapplied(keys, groups)
    return groups, Window(other.length, other.length), count


def _unapplied(keys: Keys, groups: Mapping[str, LayerGroup]) -> dict[str, LayerGroup]:
    """Rotary settings beside a `position_embedding_type` that does not rotate: kept, as layers of none."""
    if keys.known.rotates != "position_embedding_type" or all(keys.given(key) is None for key in ROTARY_KEYS):
        return {}
    found = keys.found("position_embedding_type")
    keys.warn(f"{found.key} is {found.value!r}: the rotary settings are not applied, and are shown without layers")
    entry = read_parameters(keys).get("")
    pairing, known_by = read_pairing(keys)
    if entry is None or UNUSED in groups:
        return {}
    group, _ = _rotating_group(keys, Kind(UNUSED, UNUSED, "", ()), entry, read_shape(keys), pairing, known_by)
    return {UNUSED: group}


def _scale(keys: Keys) -> float | None:
    return keys.known.scale if isinstance(keys.known.scale, float) else None


def _rotating_groups(keys: Keys) -> tuple[dict[str, LayerGroup], Window, int | None]:
    sets = read_parameters(keys)
    kinds, count = read_layers(keys, sets)
    pairing, known_by = read_pairing(keys)
    groups: dict[str, LayerGroup] = {}
    stretches: dict[str, Stretch] = {}
    for kind in kinds:
        view = _as_seen_by(keys, kind)
        entry = None if kind.settings is None else sets[kind.settings]
        shape = read_shape(view)
        if entry is None:
            groups[kind.name] = _group(view, kind, None, shape)
        else:
            groups[kind.name], stretches[kind.name] = _rotating_group(view, kind, entry, shape, pairing, known_by)
    # Layers that see everything say how far the model reaches; those with a window do where there are no others.
    order = sorted(stretches, key=lambda name: (groups[name].layers == (), groups[name].sliding_window is not None))
    window, source = (stretches[order[0]].window, stretches[order[0]].source) if order else _plain_window(keys)
    keys.sources["window.trained"] = (stretches[order[0]].trained_source if order else None) or source
    keys.sources["window.declared"] = source
    if window.declared is None and not all(group.scheme == "axial" for group in groups.values()):
        keys.warn("the configuration does not say how long its context is: max_position_embeddings is absent")
    return groups, window, count


def _group(keys: Keys, kind: Kind, entry: Parameters | None, shape: Shape) -> LayerGroup:
    """A group, as yet without position."""
    keys.sources[f"{kind.name}.heads"] = shape.source
    window, source = read_window(keys, kind.layer_type)
    if window is not None:
        keys.sources[f"{kind.name}.sliding_window"] = source
    return LayerGroup(
        kind.name,
        NoPosition(),
        layers=kind.layers,
        heads=shape.heads,
        sliding_window=window,
        softmax_scale=softmax_scale(keys, entry, shape),
        temperature=_temperature(keys, entry),
    )


def _rotating_group(
    keys: Keys, kind: Kind, entry: Parameters, shape: Shape, pairing: Pairing, known_by: str
) -> tuple[LayerGroup, Stretch]:
    rope, sources = read_rotary(keys, entry, shape, pairing, kind.base)
    stretch = read_stretch(keys, entry, rope)
    sources |= {"pairing": known_by, "scaling": entry.where if stretch.method else "none"}
    keys.sources |= {f"{kind.name}.{field}": source for field, source in sources.items()}
    group = _group(keys, kind, entry, shape)
    return replace(group, encoding=rope, stretch=stretch.method, pairing=pairing), stretch


def _plain_window(keys: Keys) -> tuple[Window, str]:
    length = keys.length()
    return Window(length, length), keys.found("max_position_embeddings").source


def _temperature(keys: Keys, entry: Parameters | None) -> QueryTemperature | None:
    """How queries are scaled with their position."""
    if keys.known.temperature == "llama4" and entry is None and keys.get("attn_temperature_tuning"):
        scale, interval = keys.number("attn_scale"), keys.number("floor_scale")
        if scale is not None and interval is not None:
            return QueryTemperature("llama4", scale, interval)
    if keys.known.temperature == "ministral3" and entry is not None:
        beta, interval = entry.number("llama_4_scaling_beta"), entry.number("original_max_position_embeddings")
        if beta is not None and interval is not None:
            return QueryTemperature("ministral3", beta, interval)
    return None


def _as_seen_by(keys: Keys, kind: Kind) -> Keys:
    """The configuration with the keys that the layers of this kind have otherwise than the rest."""
    per_layer = keys.given("per_layer_config")
    if per_layer is None:
        own = keys.known.overrides.get(kind.name, {})
        for key, spelling in (("head_dim", "global_head_dim"), ("num_key_value_heads", "num_global_key_value_heads")):
            if kind.name == "full_attention" and keys.given(spelling) is not None:
                own = {**own, key: keys.given(spelling)}
        return keys.overlaid(own, f"{kind.name}: ")
    if not isinstance(per_layer, Mapping):
        raise InputError(f"{keys.label('per_layer_config')} must be an object, got {got(per_layer)}")
    entries = []
    for index in kind.layers or ():
        entry = next((per_layer[k] for k in (str(index), f"{index:02d}", index) if k in per_layer), {})
        if not isinstance(entry, Mapping):
            raise InputError(f"{keys.label('per_layer_config')}.{index} must be an object, got {got(entry)}")
        entries.append({k: v for k, v in entry.items() if v is not None})
    if not entries:
        return keys
    shared = {k: v for k, v in entries[0].items() if all(e.get(k) == v for e in entries)}
    return keys.overlaid(shared, "per_layer_config.")
