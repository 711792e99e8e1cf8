"""Meta's dialect: params.json of Llama 1 to 4."""

from collections.abc import Mapping
from typing import Any

from ordinate.dialects._params import MAXIMUM_LAYERS, Params
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
