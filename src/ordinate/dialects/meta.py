"""Meta's dialect: params.json of Llama 1 to 4."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ordinate.dialects._departures import Departures, rotating, whole
from ordinate.dialects._own_words import OwnWords, laid_over
from ordinate.dialects._params import MAXIMUM_LAYERS, Params
from ordinate.dialects.base import Loss
from ordinate.errors import at_least, even_integer, positive
from ordinate.scaling.llama3 import Llama3
from ordinate.schemes.none import NoPosition
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup, Spec, Window
from ordinate.temperature import QueryTemperature

OWN_KEYS = frozenset(
    {
        "attention_chunk_size",
        "ffn_dim_multiplier",
        "ffn_exp",
        "multiple_of",
        "nope_layer_interval",
        "rope_high_freq_factor",
        "rope_scaling_factor",
        "use_scaled_rope",
    }
)
"""A params.json with one of these, and none of Mistral's, is Meta's."""

LLAMA4_KEYS = frozenset({"attention_chunk_size", "ffn_exp", "moe_args", "nope_layer_interval", "rope_high_freq_factor"})
# What Meta's code has where the file says only `use_scaled_rope`: factor, turns kept, by generation.
LLAMA3_FACTOR, LLAMA3_HIGH = 8.0, 4.0
LLAMA4_FACTOR, LLAMA4_HIGH = 16.0, 1.0
TRAINED_LENGTH = 8192
NOT_ROTATING = "_without_position"
"""Added to a layer type's name for those of its layers that do not rotate, where others do."""
# (dim, n_layers) of Llama 3.2's text models, which were released with another factor.
LLAMA32_SHAPES, LLAMA32_FACTOR = ((2048, 16), (3072, 28)), 32.0


def read(params: Mapping[str, Any], *, name: str) -> Spec:
    """Say what a Llama does with position, from Meta's params.json.

    Channels are paired interleaved, in every generation. The file does not say how long a context the model was
    trained for, nor the numbers of its scaling: those come from Meta's code, and are marked as assumed.

    Args:
        params: the object in the file
        name: what the spec calls the model

    Raises:
        InputError: a value that is missing or out of range

    Source: Meta, llama-models, models/llama3/args.py and model.py, models/llama4/args.py and model.py.
    """
    keys = Params(params, name)
    fourth = any(params.get(key) is not None for key in LLAMA4_KEYS)
    layers = keys.required("n_layers", most=MAXIMUM_LAYERS)
    heads = keys.heads()
    scaled = keys.flag("use_scaled_rope")
    newer = fourth or scaled is not None
    base = keys.base(
        500000.0 if newer else 10000.0,
        "rope_theta is absent, and Meta's code for "
        + ("Llama 3 and 4 has this" if newer else "Llama 1 and 2 has this"),
    )
    rope = Rope(even_integer(keys.label("dim / n_heads"), heads.head_dim), base=base, pairing="interleaved")
    scaling = _scaling(keys, layers, fourth=fourth) if scaled else None
    keys.sources["pairing"] = "container meta: interleaved in every Llama"
    keys.warnings.append(
        "the file does not say for how long a context the model was trained, nor how long one it serves"
    )
    chunk = keys.integer("attention_chunk_size")
    interval = keys.integer("nope_layer_interval")
    still = tuple(i for i in range(layers) if interval is not None and (i + 1) % interval == 0)
    turning = tuple(i for i in range(layers) if i not in set(still))
    groups = {}
    rotating = "chunked_attention" if chunk is not None and still else "full_attention"
    if chunk is not None:
        keys.sources[f"{rotating}.sliding_window"] = "attention_chunk_size"
        keys.warnings.append(f"the window of {chunk} tokens is a chunk that starts anew, not one that slides")
    if turning:
        groups[rotating] = LayerGroup(rotating, rope, scaling, "interleaved", turning, heads, chunk)
    if still:
        other = "full_attention" if "full_attention" not in groups else f"full_attention{NOT_ROTATING}"
        groups[other] = LayerGroup(other, NoPosition(), layers=still, heads=heads, temperature=_temperature(keys))
    window = Window(TRAINED_LENGTH if scaling is not None else None, None)
    architecture = "llama4" if fourth else "llama"
    return Spec(name, architecture, "meta", groups, window, layers, keys.sources, tuple(keys.warnings))


def _scaling(keys: Params, layers: int, *, fourth: bool) -> Llama3:
    """What `use_scaled_rope` stands for."""
    factor, high = keys.number("rope_scaling_factor"), keys.number("rope_high_freq_factor")
    assumed = [key for key, value in (("factor", factor), ("high_freq_factor", high)) if value is None]
    default_factor, default_high = (LLAMA4_FACTOR, LLAMA4_HIGH) if fourth else (LLAMA3_FACTOR, LLAMA3_HIGH)
    if factor is None and not fourth and (keys.integer("dim"), layers) in LLAMA32_SHAPES:
        default_factor = LLAMA32_FACTOR
        keys.warnings.append(
            f"use_scaled_rope is read as factor {LLAMA32_FACTOR:g}, because the model has the shape of Llama 3.2 (1B, "
            f"3B), which was released with it; Meta's code has {LLAMA3_FACTOR:g} for every Llama 3"
        )
    elif factor is None:
        keys.warnings.append(
            f"use_scaled_rope is read as factor {default_factor:g}, as Meta's code has it: the file has no number"
        )
    keys.sources["scaling"] = "use_scaled_rope; assumed, from Meta's code: " + ", ".join(
        [*assumed, "low_freq_factor", "original_max_position_embeddings"]
    )
    return Llama3(
        default_factor if factor is None else at_least(keys.label("rope_scaling_factor"), factor, 1),
        TRAINED_LENGTH,
        low_freq_factor=1.0,
        high_freq_factor=default_high if high is None else at_least(keys.label("rope_high_freq_factor"), high, 1),
    )


def _temperature(keys: Params) -> QueryTemperature | None:
    """The query temperature of layers without position, where it is switched on."""
    if not keys.flag("attn_temperature_tuning"):
        return None
    interval, scale = keys.number("floor_scale"), keys.number("attn_scale")
    absent = [key for key, value in (("floor_scale", interval), ("attn_scale", scale)) if value is None]
    keys.sources["temperature"] = "attn_temperature_tuning" + (
        f"; assumed, from Meta's code: {', '.join(absent)}" if absent else ", floor_scale, attn_scale"
    )
    return QueryTemperature(
        "llama4",
        0.1 if scale is None else scale,
        8192.0 if interval is None else positive(keys.label("floor_scale"), interval),
    )


class Meta(OwnWords):
    """Meta's own code for Llama 1 to 4, told by a params.json.

    It scales by Llama 3's formula alone. The numbers are in its code: factor 8, low_freq_factor 1, high_freq_factor
    4 and 8192 tokens for Llama 3 (Llama 3.2 was released with factor 32, outside the file); Llama 4's file can give
    the factor (16 where it does not) and high_freq_factor (1, which leaves no band between). Heads turn whole, and
    pairs are interleaved. The file has no word for how long a context is.

    Source: meta-llama/llama-models, models/llama3/args.py and model.py, models/llama4/args.py and model.py.
    """

    name: ClassVar[str] = "meta"
    title: ClassVar[str] = "Meta's code"
    version: ClassVar[str] = "a9c89c4, 2025-07-15"
    source: ClassVar[str] = "meta-llama/llama-models: models/llama3/model.py, models/llama4/args.py"
    pairing: ClassVar[str | None] = "interleaved"

    def depart(self, departures: Departures, spec: Spec, capacity: int | None) -> None:
        del capacity
        departures.one_position()
        departures.fold_base()
        departures.drop_temperature()
        stretch = departures.group.stretch
        if not isinstance(stretch, Llama3):
            departures.drop_stretch()
            departures.whole_head()
            return
        departures.whole_head()
        why = "has this number in itself"
        departures.stretch("original_max_position_embeddings", why, original_max_position_embeddings=TRAINED_LENGTH)
        if not _fourth(spec):
            departures.stretch("factor", why, factor=LLAMA3_FACTOR)
            departures.stretch("low_freq_factor", why, low_freq_factor=1.0, high_freq_factor=LLAMA3_HIGH)
            return
        high = max(stretch.high_freq_factor, 1.0)
        departures.stretch("low_freq_factor", why, low_freq_factor=1.0, high_freq_factor=high)

    def depart_without_rope(self, departures: Departures, spec: Spec) -> None:
        if not _fourth(spec):
            self.turn(departures, spec)
        elif departures.group.temperature is not None and departures.group.temperature.form != "llama4":
            departures.drop_temperature()

    def say(self, spec: Spec) -> dict[str, Any]:
        first = next(rotating(spec))
        said: dict[str, Any] = {"rope_theta": whole(first.rope.base), "use_scaled_rope": first.stretch is not None}
        if not _fourth(spec):
            return said
        if isinstance(first.stretch, Llama3):
            said["rope_scaling_factor"] = whole(first.stretch.factor)
            said["rope_high_freq_factor"] = whole(first.stretch.high_freq_factor)
        for group in spec.groups.values():
            if group.temperature is not None:
                said |= {
                    "attn_temperature_tuning": True,
                    "attn_scale": group.temperature.scale,
                    "floor_scale": whole(group.temperature.interval),
                }
        return said

    def text(self, settings: Mapping[str, Any]) -> str:
        return json.dumps(dict(settings), indent=2)

    def more_losses(self, spec: Spec) -> tuple[Loss, ...]:
        if spec.window.declared is None:
            return ()
        what = (
            f"params.json has no word for the window of {spec.window.declared} tokens: Meta's code is given it as "
            "max_seq_len when it is started, and takes 2048 by itself"
        )
        return (Loss("max_position_embeddings", what, "meta-llama/llama-models: models/llama3/args.py"),)

    def read(self, settings: Mapping[str, Any], model: Spec) -> Spec:
        keys = self.words(settings, WORDS)
        base = keys.base(500000.0, "Meta's code has this")
        stretch = None
        if keys.flag("use_scaled_rope"):
            factor, high = keys.number("rope_scaling_factor"), keys.number("rope_high_freq_factor")
            fourth = _fourth(model)
            stretch = Llama3(
                at_least(keys.label("rope_scaling_factor"), factor, 1)
                if fourth and factor is not None
                else (LLAMA4_FACTOR if fourth else LLAMA3_FACTOR),
                TRAINED_LENGTH,
                low_freq_factor=1.0,
                high_freq_factor=at_least(keys.label("rope_high_freq_factor"), high, 1)
                if fourth and high is not None
                else (LLAMA4_HIGH if fourth else LLAMA3_HIGH),
            )
        trained = TRAINED_LENGTH if stretch is not None else model.window.trained
        read = laid_over(model, base, stretch, Window(trained, None))
        temperature = _temperature(keys)
        groups = {
            name: group if isinstance(group.encoding, Rope) else replace(group, temperature=temperature)
            for name, group in read.groups.items()
        }
        return replace(read, groups=groups)


WORDS = frozenset(
    {
        "attn_scale",
        "attn_temperature_tuning",
        "floor_scale",
        "rope_high_freq_factor",
        "rope_scaling_factor",
        "rope_theta",
        "use_scaled_rope",
    }
)


def _fourth(spec: Spec) -> bool:
    """Whether Meta's code for Llama 4 runs this model."""
    return spec.architecture.startswith("llama4")
