"""The shape of attention: heads, their widths, MLA's latent, and what multiplies q k."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ordinate.dialects.huggingface.keys import ALIASES, MAXIMUM_WIDTH, Keys
from ordinate.dialects.huggingface.parameters import Parameters
from ordinate.errors import InputError, boolean, got, positive
from ordinate.scaling.yarn import magnitude
from ordinate.spec import Heads

MAXIMUM_HIDDEN = 2**24


@dataclass(frozen=True)
class Shape:
    """Attention's shape in some layers.

    Args:
        heads: as the spec has it, or None where the configuration does not say or has a number for each layer
        head_dim: channels of a query or key head, its rotary part included
        latent: attention is MLA, whose rotary part stands last and is `rotary_dim` wide
        rotary_dim: as MLA has it, else None
        source, rotary_source: where the widths are from
    """

    heads: Heads | None
    head_dim: int
    source: str
    latent: bool = False
    rotary_dim: int | None = None
    rotary_source: str = ""


def read_shape(keys: Keys) -> Shape:
    """Read the shape of attention.

    Raises:
        InputError: a width that is missing or out of range
    """
    found = keys.found("num_attention_heads")
    query = None
    if isinstance(found.value, list):
        keys.warn(f"{found.source} differs from layer to layer: the spec has no single shape of heads")
    else:
        query = keys.integer("num_attention_heads")
    nope, rotary = keys.integer("qk_nope_head_dim"), keys.integer("qk_rope_head_dim")
    if nope is not None and rotary is not None:
        return _latent(keys, query, nope, rotary)
    head_dim, source = _head_dim(keys, query)
    if query is None:
        return Shape(None, head_dim, source)
    value_dim = keys.integer("v_head_dim") or head_dim
    return Shape(Heads(query, _key_value(keys, query), head_dim, value_dim), head_dim, source)


def softmax_scale(keys: Keys, entry: Parameters | None, shape: Shape) -> float | None:
    """What multiplies q k, or None for 1 / sqrt(head_dim)."""
    rule = keys.known.scale
    if rule is None or not isinstance(rule, str):
        return rule
    if rule == "query_pre_attn_scalar":
        scalar = keys.number(rule)
        return None if scalar in (None, shape.head_dim) else positive(keys.label(rule), scalar) ** -0.5
    if rule == "attention_multiplier":
        multiplier = keys.number(rule)
        return None if multiplier is None else positive(keys.label(rule), multiplier)
    if rule == "half_head":
        return (shape.head_dim / 2) ** -0.5
    if entry is not None and entry.type != "default":
        # DeepSeek scales the whole logit, where others scale cos and sin, by the square of YaRN's magnitude.
        mscale, factor = entry.number("mscale_all_dim"), entry.number("factor")
        if mscale and factor is not None:
            return magnitude(factor, mscale) ** 2 / math.sqrt(shape.head_dim)
    return None


def _latent(keys: Keys, query: int | None, nope: int, rotary: int) -> Shape:
    source = f"{keys.found('qk_nope_head_dim').source} + {keys.found('qk_rope_head_dim').source}"
    heads = None
    if query is not None:
        value_dim = keys.integer("v_head_dim") or nope + rotary
        latent = keys.integer("kv_lora_rank", most=MAXIMUM_HIDDEN)
        heads = Heads(query, _key_value(keys, query), nope + rotary, value_dim, latent, rotary)
    return Shape(heads, nope + rotary, source, True, rotary, keys.found("qk_rope_head_dim").source)


def _head_dim(keys: Keys, query: int | None) -> tuple[int, str]:
    head_dim = keys.integer("head_dim")
    if head_dim is not None:
        return head_dim, keys.found("head_dim").source
    hidden = keys.integer("hidden_size", most=MAXIMUM_HIDDEN)
    if hidden is None or query is None:
        other = "hidden_size" if hidden is None else "num_attention_heads"
        raise InputError(f"{keys.label('head_dim')} is missing, and so is {other} to compute it from")
    # Zamba's attention reads the hidden state beside the embedding: its heads cut twice the width.
    times = 2 if keys.model_type in ("zamba", "zamba2") else 1
    hidden *= times
    # SAM 2's memory attention projects its hidden state down before it is cut into heads.
    parts = query * (keys.integer("memory_attention_downsample_rate") or 1)
    if hidden < parts:
        raise InputError(f"{keys.label('hidden_size')} must be at least the {parts} heads, got {hidden}")
    if hidden % parts:
        keys.warn(f"hidden_size {hidden} is no multiple of {parts} heads: the width of a head is rounded down")
    width = hidden // parts
    if width > MAXIMUM_WIDTH:
        raise InputError(
            f"{keys.label('hidden_size')} gives heads of {width} channels, at most {MAXIMUM_WIDTH} are read"
        )
    source = f"{keys.found('hidden_size').source} / {keys.found('num_attention_heads').source}"
    return width, source if times == 1 else f"{times} * {source}"


def _not_read(keys: Keys, names: Iterable[str], heads: int, instead: str) -> None:
    """Remark on numbers of key and value heads that the architecture's code has no eye for."""
    for name in names:
        given = keys.given(name)
        if given not in (None, False, heads):
            code = f"the code of {keys.model_type} does not read"
            keys.warn(f"{keys.where(name)} is {got(given)}, which {code}: {instead}")


def _key_value(keys: Keys, query: int) -> int:
    if not keys.known.grouped:
        names = ("num_key_value_heads", *ALIASES["num_key_value_heads"], "multi_query")
        _not_read(keys, names, query, f"each of its {query} query heads has a key and a value of its own")
        return query
    multi = keys.get("multi_query")
    if multi is not None:
        # Falcon: one head for all, unless the architecture is the new one; StarCoder's has no other number.
        multi = boolean(keys.label("multi_query"), multi)
        if multi and not keys.flag("new_decoder_architecture"):
            _not_read(keys, ("num_key_value_heads",), 1, "all query heads share one key and one value")
            return 1
        return keys.integer("num_kv_heads") or query
    attention = keys.get("attn_config")
    if attention is not None and not isinstance(attention, dict):
        raise InputError(f"{keys.label('attn_config')} must be an object, got {got(attention)}")
    if keys.given("num_key_value_heads") is None and attention and attention.get("kv_n_heads"):
        return keys.overlaid(attention, "attn_config.").integer("kv_n_heads") or query
    if isinstance(keys.get("num_key_value_heads"), list):
        keys.warn("num_key_value_heads differs from layer to layer: the number of query heads is shown")
        return query
    return keys.integer("num_key_value_heads") or query
