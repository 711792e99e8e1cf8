"""Weights of encoders, and of encoders with decoders."""

from collections.abc import Callable, Mapping

from ordinate.plan.values import Values
from ordinate.plan.weights.part import Part


def _bert(values: Values) -> list[Part]:
    """BERT without a head on top but the pooler, which its files have."""
    hidden, width = values.whole("hidden_size"), values.whole("intermediate_size", default=3072)
    rows, types = values.whole("max_position_embeddings"), values.whole("type_vocab_size", default=2)
    vocabulary = values.whole("vocab_size")
    found = [
        Part("embedding", vocabulary * hidden, "first", "even"),
        Part("positions", rows * hidden, "first", "whole"),
        Part("types and norm", types * hidden + 2 * hidden, "first", "whole"),
    ]
    for layer in range(values.layers("num_hidden_layers")):
        found += _attention(hidden, hidden, layer, "attention", bias=4)
        found.append(Part("feed-forward", 2 * hidden * width + width + hidden, layer, "even"))
        found.append(Part("norms", 4 * hidden, layer, "whole"))
    return [*found, Part("pooler", hidden * hidden + hidden, "last", "even")]


def _bart(values: Values) -> list[Part]:
    hidden = values.whole("d_model")
    whisper = values.model_type == "whisper"
    found = []
    if whisper:
        bins, rows = values.whole("num_mel_bins", default=80), values.whole("max_source_positions", default=1500)
        found.append(Part("convolutions", 3 * bins * hidden + hidden + 3 * hidden * hidden + hidden, "first", "even"))
        found.append(Part("encoder positions", rows * hidden, "first", "whole"))
        found.append(Part("decoder positions", values.whole("max_target_positions") * hidden, "first", "whole"))
    else:
        rows = values.whole("max_position_embeddings") + 2
        found.append(Part("positions", 2 * rows * hidden, "first", "whole"))
        found.append(Part("embedding norms", 4 * hidden, "first", "whole"))
    found.append(Part("embedding", values.whole("vocab_size") * hidden, "first", "even"))
    # Whisper's keys have no bias.
    bias = 3 if whisper else 4
    for side in ("encoder", "decoder"):
        width = values.whole(f"{side}_ffn_dim")
        for layer in range(values.layers(f"{side}_layers")):
            times = 1 if side == "encoder" else 2
            for _ in range(times):
                found += _attention(hidden, hidden, layer, f"{side} attention", bias=bias)
            found.append(Part(f"{side} feed-forward", 2 * hidden * width + width + hidden, layer, "even"))
            found.append(Part(f"{side} norms", 2 * hidden * (times + 1), layer, "whole"))
    if whisper:
        found.append(Part("final norms", 4 * hidden, "last", "whole"))
    if not values.flag("tie_word_embeddings", default=True):
        found.append(Part("output", values.whole("vocab_size") * hidden, "last", "even"))
        if not whisper:  # both sides have an embedding of their own then
            found.append(Part("embedding", 2 * values.whole("vocab_size") * hidden, "first", "even"))
    return found


def _t5(values: Values) -> list[Part]:
    hidden, width = values.whole("d_model"), values.whole("d_ff")
    heads, vocabulary = values.whole("num_heads"), values.whole("vocab_size")
    inner = heads * values.whole("d_kv")
    buckets = values.whole("relative_attention_num_buckets", default=32) * heads
    usual = "relu" if values.model_type == "t5" else "gated-gelu"
    gated = str(values.raw("feed_forward_proj") or usual).startswith("gated")
    every = values.model_type == "umt5"
    found = [Part("embedding", vocabulary * hidden, "first", "even")]
    for side, key in (("encoder", "num_layers"), ("decoder", "num_decoder_layers")):
        count = values.layers(key, "num_layers")
        times = 1 if side == "encoder" else 2
        for layer in range(count):
            for _ in range(times):
                found += _attention(hidden, inner, layer, f"{side} attention", bias=0)
            found.append(Part(f"{side} feed-forward", (3 if gated else 2) * hidden * width, layer, "even"))
            found.append(Part(f"{side} norms", hidden * (times + 1), layer, "whole"))
        found.append(Part(f"{side} bias by distance", buckets * (count if every else 1), "first", "even"))
        found.append(Part(f"{side} final norm", hidden, "last", "whole"))
    if not values.flag("tie_word_embeddings", default=True):
        found.append(Part("output", vocabulary * hidden, "last", "even"))
    return found


def _attention(hidden: int, inner: int, layer: int, name: str, *, bias: int) -> list[Part]:
    return [Part(name, 4 * hidden * inner + bias * hidden, layer, "even")]


ENCODERS: Mapping[str, Callable[[Values], list[Part]]] = {
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "camembert"), _bert),
    **dict.fromkeys(("bart", "whisper"), _bart),
    **dict.fromkeys(("t5", "mt5", "umt5"), _t5),
}
"""By model type."""


def encoder_parts(values: Values) -> list[Part]:
    """The weights of an encoder, or of one with a decoder, as parts without bytes."""
    return ENCODERS[values.model_type](values)
