"""Weights by the shapes that a configuration gives: matrices, biases and norms of an architecture's layers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ordinate.plan.crossing import crossing_types
from ordinate.plan.layers import Cached
from ordinate.plan.values import Values
from ordinate.plan.weights.encoders import ENCODERS, encoder_parts
from ordinate.plan.weights.family import FAMILIES, Family, holds
from ordinate.plan.weights.feed_forward import feed_forward
from ordinate.plan.weights.mixers import mixer
from ordinate.plan.weights.part import Cut, Part, Parts, Place
from ordinate.plan.weights.quantised import known, number_bytes
from ordinate.spec import Spec

_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


def shaped(
    spec: Spec, values: Values | None, whole: Mapping[str, Any], layers: tuple[Cached, ...], dtype: str
) -> Parts | None:
    """The weights of an architecture whose matrices are known here, by its configuration; None for others.

    Args:
        spec: of the model
        values: of its configuration
        whole: the whole of that
        layers: what its layers keep, which says which of them have attention
        dtype: in which the numbers are kept

    Raises:
        InputError: a size that is missing or out of range
    """
    if values is None or (
        any(cached.kind == "cross" for cached in layers) and values.model_type not in crossing_types()
    ):
        return None  # the matrices of a cross-attention beside a decoder's own are in no table here
    kind = values.model_type
    if kind in ENCODERS:
        found = encoder_parts(values)
    elif kind in FAMILIES:
        found = _decoder(spec, values, layers, FAMILIES[kind])
    else:
        return None
    settings = values.keys.config.get("quantization_config")
    settings = settings if isinstance(settings, dict) else whole.get("quantization_config")
    method = settings.get("quant_method") if isinstance(settings, dict) else None
    if method is not None and not known(str(method)):
        return None
    size = _BYTES[dtype]
    each = [number_bytes(part, settings if isinstance(settings, dict) else None, size) for part in found]
    parts = tuple(replace(part, bytes=part.numbers * one) for part, one in zip(found, each, strict=True))
    kept = dtype if method is None else f"{method} and {dtype}"
    source = f"the shapes in the configuration, as {kind} has them, in {kept}"
    return Parts(parts, dtype if method is None else None, source)


def _decoder(spec: Spec, values: Values, layers: tuple[Cached, ...], family: Family) -> list[Part]:
    hidden, vocabulary = values.whole("hidden_size"), values.whole("vocab_size", "padded_vocab_size")
    count = spec.layers or values.layers("num_hidden_layers")
    norm = hidden * (2 if family.norm_bias else 1)
    if values.model_type == "opt" and not values.flag("layer_norm_elementwise_affine", default=True):
        norm = 0
    width = values.optional("word_embed_proj_dim") if values.model_type == "opt" else None
    width = width or hidden
    found = [Part("embedding", vocabulary * width, "first", "even")]
    if width != hidden:
        found += [Part(f"embedding {way}", width * hidden, way, "whole") for way in ("first", "last")]
    if family.positions is not None:
        rows = values.whole("max_position_embeddings") + family.positions
        found.append(Part("positions", rows * hidden, "first", "whole"))
    if values.model_type == "bloom":
        found.append(Part("embedding norm", 2 * hidden, "first", "whole"))
    attends = {layer: cached for cached in layers if cached.kind in ("attention", "latent") for layer in cached.layers}
    norms = _norms(values, family)
    for layer in range(count):
        cached = attends.get(layer)
        if cached is not None:
            found += _attention(values, cached, layer, hidden, family)
        found += mixer(values, layer, hidden, attends=cached is not None)
        found += feed_forward(values, layer, hidden, family)
        found.append(Part("norms", norms * norm, layer, "whole"))
    if family.final_norm and (values.model_type != "opt" or _opt_ends_with_a_norm(values)):
        found.append(Part("final norm", norm, "last", "whole"))
    if not values.flag("tie_word_embeddings", default=family.tied):
        found.append(Part("output", vocabulary * width, "last", "even"))
    if holds(values, family.head_bias):
        found.append(Part("output bias", vocabulary, "last", "even"))
    return found


def _norms(values: Values, family: Family) -> int:
    """Those of a layer."""
    if values.model_type == "falcon":
        return _falcon_norms(values)
    parallel = family.serial_norms > 0 and values.flag("use_parallel_residual", default=False)
    return family.norms - (family.serial_norms if parallel else 0)


def _opt_ends_with_a_norm(values: Values) -> bool:
    return values.flag("do_layer_norm_before", default=True) and not values.flag(
        "_remove_final_layer_norm", default=False
    )


def _falcon_norms(values: Values) -> int:
    """One before attention and feed-forward in parallel, two where each has its own."""
    if values.flag("parallel_attn", default=True) and values.flag("new_decoder_architecture", default=False):
        return values.whole("num_ln_in_parallel_attn", default=2)
    return 1 if values.flag("parallel_attn", default=True) else 2


def _attention(values: Values, cached: Cached, layer: int, hidden: int, family: Family) -> list[Part]:
    if cached.kind == "latent":
        return _latent(values, layer, hidden, cached, family)
    query, key, value = (
        cached.query_heads * cached.key_dim,
        cached.heads * cached.key_dim,
        cached.heads * cached.value_dim,
    )
    bias, out = holds(values, family.qkv_bias), cached.query_heads * cached.value_dim
    found = _linear("queries", hidden, query * (2 if family.query_gate else 1), layer, bias, "even")
    found += _linear("keys and values", hidden, key + value, layer, bias, "key_value")
    found += _linear("attention output", out, hidden, layer, holds(values, family.out_bias), "even")
    if family.qk_norm and holds(values, family.qk_norm_where):
        times = 2 if family.qk_norm_bias else 1
        if family.qk_norm == "head":
            found.append(Part("query and key norms", 2 * cached.key_dim * times, layer, "whole"))
        else:
            found.append(Part("query and key norms", (query + key) * times, layer, "even"))
    if family.sinks:
        found.append(Part("sinks", cached.query_heads, layer, "even"))
    return found


def _latent(values: Values, layer: int, hidden: int, cached: Cached, family: Family) -> list[Part]:
    """MLA: what goes down to the latents is whole on each rank, what goes up is cut by heads."""
    heads, rotary, latent = cached.query_heads, cached.key_dim, cached.value_dim
    nope, value = values.whole("qk_nope_head_dim"), values.whole("v_head_dim")
    query, bias = heads * (nope + rotary), holds(values, family.qkv_bias)
    rank = values.optional("q_lora_rank") if values.raw("q_lora_rank") is not None else None
    if rank is None:
        found = [Part("queries", hidden * query, layer, "even")]
    else:
        found = [
            Part("queries down", hidden * rank + rank * (2 if bias else 1), layer, "whole"),
            Part("queries up", rank * query, layer, "even"),
        ]
    return [
        *found,
        *_linear("latent down", hidden, latent + rotary, layer, bias, "whole"),
        Part("latent norm", latent, layer, "whole"),
        Part("keys and values up", latent * heads * (nope + value), layer, "even"),
        *_linear("attention output", heads * value, hidden, layer, holds(values, family.out_bias), "even"),
    ]


def _linear(name: str, inputs: int, outputs: int, place: Place, bias: bool, cut: Cut) -> list[Part]:
    return [Part(name, inputs * outputs + (outputs if bias else 0), place, cut)]
