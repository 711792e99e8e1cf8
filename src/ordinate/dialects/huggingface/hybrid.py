"""Layer types in the own words of architectures that mix attention with recurrence or convolution."""

from typing import Any

from ordinate.dialects.huggingface.keys import MAXIMUM_LAYERS, Keys, whole
from ordinate.errors import InputError, got, non_negative_integer

# Nemotron-H: a letter a layer.
_LETTERS = {"M": "linear_attention", "*": "full_attention", "-": "mlp", "E": "moe"}
# Jamba's own defaults.
_PERIOD, _OFFSET = 8, 4
_REACHES = {"global": "full_attention", "local": "sliding_attention"}
_BLOCKS = {"recurrent": "recurrent", "attention": "sliding_attention"}


def hybrid_types(keys: Keys, count: int) -> tuple[list[str], str] | None:
    """The type of each layer and the key that says it, or None where the configuration has no such key.

    hybrid_override_pattern:  Nemotron-H, a letter a layer
    attn_type_list:           MiniMax-Text-01, 1 for attention, 0 for lightning attention
    full_attn_idxs:           LFM2, the layers with attention, from 0
    linear_attn_config:       Kimi Linear, `full_attn_layers`, from 1
    attn_layer_period, attn_layer_offset: Jamba, a layer in each period
    block_types:              RecurrentGemma, repeated; its attention has a window
    attention_layers, attention_types: GPT-Neo, "global" or "local" a layer, or such lists with how often each comes

    Raises:
        InputError: a list or number that fits no layers
    """
    pattern = keys.given("hybrid_override_pattern")
    if pattern is not None:
        if not isinstance(pattern, str) or set(pattern) - set(_LETTERS) or len(pattern) != count:
            raise InputError(
                f"{keys.label('hybrid_override_pattern')} must have one of {' '.join(_LETTERS)} for each of {count} "
                f"layers, got {got(pattern)}"
            )
        return [_LETTERS[letter] for letter in pattern], "hybrid_override_pattern"
    listed = keys.given("attn_type_list")
    if listed is not None:
        if not isinstance(listed, list) or len(listed) != count or any(entry not in (0, 1) for entry in listed):
            raise InputError(f"{keys.label('attn_type_list')} must be 0 or 1 for each of {count} layers")
        return ["full_attention" if entry else "linear_attention" for entry in listed], "attn_type_list"
    for key, value, first in (("full_attn_idxs", keys.given("full_attn_idxs"), 0), _kimi(keys)):
        if value is not None:
            return _chosen(keys, key, value, first, count), key
    if keys.model_type == "jamba" or keys.given("attn_layer_period") is not None:
        return _periodic(keys, count), "attn_layer_period"
    if keys.model_type == "recurrent_gemma":
        blocks = keys.given("block_types") or keys.given("_block_types") or ["recurrent", "recurrent", "attention"]
        if not isinstance(blocks, list) or any(block not in _BLOCKS for block in blocks):
            raise InputError(f"{keys.label('block_types')} must list {' and '.join(_BLOCKS)}, got {got(blocks)}")
        return [_BLOCKS[blocks[i % len(blocks)]] for i in range(count)], "block_types"
    if keys.model_type == "gpt_neo":
        return _global_and_local(keys, count)
    return None


def _global_and_local(keys: Keys, count: int) -> tuple[list[str], str] | None:
    repeated, listed = keys.given("attention_types"), keys.given("attention_layers")
    key = "attention_types" if listed is None else "attention_layers"
    if listed is None:
        if repeated is None:
            return None
        if not isinstance(repeated, list) or not all(isinstance(part, list) and len(part) == 2 for part in repeated):
            raise InputError(f"{keys.label(key)} must list lists of types, each with a number, got {got(repeated)}")
        listed = []
        for types, times in repeated:
            if not isinstance(types, list) or len(types) * whole(keys.label(key), times, MAXIMUM_LAYERS) > count:
                raise InputError(f"{keys.label(key)} must make {count} layers, got {got(repeated)}")
            listed += types * int(times)
    wrong = not isinstance(listed, list) or len(listed) != count
    if wrong or any(not isinstance(entry, str) or entry not in _REACHES for entry in listed):
        raise InputError(f"{keys.label(key)} must say global or local of each of {count} layers, got {got(listed)}")
    return [_REACHES[entry] for entry in listed], key


def _kimi(keys: Keys) -> tuple[str, Any, int]:
    found = keys.given("linear_attn_config")
    value = found.get("full_attn_layers") if isinstance(found, dict) else None
    return "linear_attn_config.full_attn_layers", value, 1


def _chosen(keys: Keys, key: str, value: Any, first: int, count: int) -> list[str]:
    if not isinstance(value, list):
        raise InputError(f"{keys.label(key)} must be a list of layers, got {got(value)}")
    chosen = {non_negative_integer(keys.label(key), entry) - first for entry in value}
    if chosen and not (min(chosen) >= 0 and max(chosen) < count):
        raise InputError(f"{keys.label(key)} must be of {count} layers from {first} on, got {got(value)}")
    other = "conv" if key == "full_attn_idxs" else "linear_attention"
    return ["full_attention" if i in chosen else other for i in range(count)]


def _periodic(keys: Keys, count: int) -> list[str]:
    period, offset = keys.given("attn_layer_period"), keys.given("attn_layer_offset")
    period = _PERIOD if period is None else whole(keys.label("attn_layer_period"), period, MAXIMUM_LAYERS)
    offset = _OFFSET if offset is None else non_negative_integer(keys.label("attn_layer_offset"), offset)
    if offset >= period:
        raise InputError(f"{keys.label('attn_layer_offset')} must be below the period {period}, got {offset}")
    return ["full_attention" if i % period == offset else "linear_attention" for i in range(count)]
