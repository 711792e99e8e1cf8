"""The layer groups of a GGUF file's model: each kind of layers with its scheme, scaling, shape and temperature."""

import numpy as np

from ordinate.dialects.llama_cpp.architectures import Architecture
from ordinate.dialects.llama_cpp.keys import Keys
from ordinate.dialects.llama_cpp.layers import Kind, Layers
from ordinate.dialects.llama_cpp.rotary import proportional, read_rotary
from ordinate.dialects.llama_cpp.shape import Shape, read_shape, softmax_scale
from ordinate.dialects.llama_cpp.stretching import Stretch, read_stretch
from ordinate.errors import InputError, got
from ordinate.scaling.base import Scaling
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.base import Rotary, Scheme
from ordinate.schemes.none import NoPosition
from ordinate.spec import LayerGroup, Pairing, Window
from ordinate.temperature import QueryTemperature

# llama.cpp has these for every llama4 file, as Meta's released models have.
LLAMA4_SCALE, LLAMA4_INTERVAL = 0.1, 8192.0


def rotating_groups(
    keys: Keys, known: Architecture, layers: Layers, declared: int | None
) -> tuple[dict[str, LayerGroup], Window]:
    """The groups of an architecture that rotates, and the length before and after stretching."""
    shapes = {kind.name: read_shape(keys, layers.count, kind) for kind in layers.kinds}
    turning = {kind.name: read_rotary(keys, known, shapes[kind.name], kind) for kind in layers.kinds if kind.rotates}
    for rope, _ in turning.values():
        _check(keys, rope, None)
    # Where no layer of full attention rotates, the scaling is that of the layers that do.
    first = min((kind for kind in layers.kinds if kind.rotates), key=_rank, default=None)
    stretch = Stretch(None, "nothing rotates", Window(declared, declared))
    if first is not None:
        stretch = read_stretch(keys, known, turning[first.name][0], declared)
    groups = {}
    for kind in layers.kinds:
        encoding: Scheme = NoPosition()
        scaling: Scaling | None = None
        pairing: Pairing | None = None
        if kind.rotates:
            rope, pairing = turning[kind.name]
            scaling = stretch.method if kind.stretched else None
            encoding = proportional(rope, stretch.turning) if kind.stretched and stretch.turning is not None else rope
            keys.sources[f"{kind.name}.scaling"] = stretch.source if kind.stretched else "none for these layers"
            _check(keys, encoding, scaling)
        groups[kind.name] = group(keys, known, layers, kind, shapes[kind.name], encoding, scaling, pairing)
    if stretch.window.trained != declared:
        keys.sources["window.trained"] = stretch.source
    if stretch.window.declared != declared:
        keys.sources["window.declared"] = f"{keys.full('context_length')} and the factor"
    return groups, stretch.window


def group(
    keys: Keys,
    known: Architecture,
    layers: Layers,
    kind: Kind,
    shape: Shape,
    encoding: Scheme,
    scaling: Scaling | None,
    pairing: Pairing | None,
) -> LayerGroup:
    """One kind of layers with its shape, window, softmax scale and temperature."""
    factor = scaling.factor if isinstance(scaling, Yarn) else None
    return LayerGroup(
        kind.name,
        encoding,
        scaling,
        pairing,
        kind.layers,
        shape.heads,
        kind.window,
        softmax_scale(keys, known, shape, layers.count, factor),
        _temperature(keys, layers, kind, scaling),
    )


def _temperature(keys: Keys, layers: Layers, kind: Kind, scaling: Scaling | None) -> QueryTemperature | None:
    """The query temperature of a kind of layers."""
    if keys.architecture == "llama4" and len(layers.kinds) > 1:
        if kind.rotates:
            return None
        keys.sources[f"{kind.name}.temperature"] = "assumed: the same in every llama4, not in the file"
        return QueryTemperature("llama4", LLAMA4_SCALE, LLAMA4_INTERVAL)
    scale = keys.number("attention.temperature_scale")
    length = keys.integer("attention.temperature_length", zero=True)
    if keys.architecture == "grok" and length:
        keys.warn("the file has a query temperature of grok's own form, which a spec cannot say")
        return None
    if not scale:
        return None
    source, interval = keys.full("attention.temperature_scale"), length
    if not interval and isinstance(scaling, Yarn):
        source, interval = f"{source}; interval: YaRN's original length", scaling.original_max_position_embeddings
    if not interval:
        raise InputError(f"{keys.label('attention.temperature_length')} is missing beside temperature_scale")
    keys.sources[f"{kind.name}.temperature"] = source
    return QueryTemperature("ministral3", scale, float(interval))


def _rank(kind: Kind) -> tuple[bool, bool]:
    return (not kind.stretched, kind.local)


def _check(keys: Keys, rope: Rotary, scaling: Scaling | None) -> None:
    """Refuse numbers that are possible one by one and together give no finite frequencies."""
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            frequencies = rope.plain() if scaling is None else scaling.frequencies(rope)
    except (ArithmeticError, InputError) as error:
        raise InputError(f"{keys.file.path}: these numbers give no frequencies: {error}") from None
    if not np.isfinite(frequencies).all():
        raise InputError(
            f"{keys.file.path}: these numbers give no finite frequencies: base {rope.base:g}, {got(scaling)}"
        )
