"""Decoders that attend to an encoder: keys and values of its tokens are made once and grow no more."""

from collections.abc import Mapping
from dataclasses import dataclass

from ordinate.errors import InputError
from ordinate.plan.layers import Cached
from ordinate.plan.values import Values


@dataclass(frozen=True)
class Crossing:
    """A decoder beside an encoder.

    Args:
        layers: what the decoder's layers keep, of its own tokens and of the encoder's
        encoder_tokens: how many the encoder has where its input does not decide it, or None
        source: of that number
    """

    layers: tuple[Cached, ...]
    encoder_tokens: int | None
    source: str


# The keys of the number of decoder layers, of their heads, of a head's channels or of all of them.
_BART = ("decoder_layers", "decoder_attention_heads", "", "d_model")
_T5 = ("num_decoder_layers", "num_heads", "d_kv", "d_model")
_BARTS = (
    *("bart", "mbart", "pegasus", "plbart", "blenderbot", "blenderbot-small", "marian", "m2m_100", "mvp"),
    *("whisper", "speech_to_text"),
)
_SHAPES: Mapping[str, tuple[str, str, str, str]] = {
    **dict.fromkeys(_BARTS, _BART),
    **dict.fromkeys(("t5", "mt5", "umt5", "longt5", "switch_transformers"), _T5),
}

# Layers of Llama 3.2 Vision that look at the picture, and what one picture has of them: tiles of 1 + 40 * 40 patches.
_MLLAMA_LAYERS = (3, 8, 13, 18, 23, 28, 33, 38)


def crossing_types() -> list[str]:
    """The model types of encoders with decoders that are known here."""
    return [*_SHAPES, "mllama_text_model"]


def crossing(values: Values, layers: list[Cached]) -> Crossing:
    """What a decoder keeps beside an encoder.

    Args:
        values: of the configuration
        layers: what its spec says of attention, for architectures whose decoder is what the spec describes

    Raises:
        InputError: the configuration does not say the decoder's shape
    """
    if values.model_type == "mllama_text_model":
        return _mllama(values, layers)
    count_key, heads_key, width_key, all_key = _SHAPES[values.model_type]
    fallback = ("num_layers",) if count_key == "num_decoder_layers" else ()
    count, heads = values.layers(count_key, *fallback), values.whole(heads_key)
    width = values.optional(width_key) if width_key else None
    width = width or values.whole(all_key) // heads
    numbers = tuple(range(count))
    own = Cached("decoder", "attention", numbers, heads, width, width, query_heads=heads)
    other = Cached("cross_attention", "cross", numbers, heads, width, width, query_heads=heads)
    tokens, source = None, ""
    if values.model_type == "whisper":
        tokens, source = values.whole("max_source_positions", default=1500), "max_source_positions"
    return Crossing((own, other), tokens, source)


def _mllama(values: Values, layers: list[Cached]) -> Crossing:
    every = [layer for cached in layers for layer in cached.layers]
    chosen = values.layer_numbers("cross_attention_layers", len(every))
    if chosen is None:
        chosen = tuple(layer for layer in _MLLAMA_LAYERS if layer < len(every))
        values.sources["cross_attention_layers"] = "assumed: the architecture's default; it is absent"
    if len(layers) != 1:
        raise InputError(f"{values.keys.name}: layers of several kinds beside cross-attention are not known here")
    base = layers[0]
    own = tuple(layer for layer in every if layer not in chosen)
    shape = (base.heads, base.key_dim, base.value_dim)
    kept = Cached(base.name, "attention", own, *shape, query_heads=base.query_heads)
    crossed = Cached("cross_attention", "cross", chosen, *shape, query_heads=base.query_heads)
    return Crossing((kept, crossed), None, "")
