"""What a model's layers keep, by its architecture; what is not known is refused."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ordinate.errors import InputError
from ordinate.files.gguf import read_gguf
from ordinate.plan.attention import attention_layers
from ordinate.plan.cost import expanded
from ordinate.plan.crossing import crossing, crossing_types
from ordinate.plan.known import decoders, encoders, gguf_decoders
from ordinate.plan.layers import Cached
from ordinate.plan.recurrent import EVERY, ONLY, STATES, states_of
from ordinate.plan.values import Values
from ordinate.registry import suggestion
from ordinate.spec import Spec


@dataclass(frozen=True)
class Keeping:
    """What a model keeps of its tokens.

    Args:
        layers: layers that keep alike
        encoder: it has no decoder, and keeps nothing
        encoder_tokens: of the input that its decoder attends to, where its architecture fixes them, [token]
        encoder_source: of that number
        crosses: it attends to an encoder's tokens
        notes: what to know of it
    """

    layers: tuple[Cached, ...]
    encoder: bool = False
    encoder_tokens: int | None = None
    encoder_source: str = ""
    crosses: bool = False
    notes: tuple[str, ...] = field(default=())


SHARING = frozenset({"gemma3n_text", "gemma4_text", "gemma4_unified_text"})
"""Their last `num_kv_shared_layers` layers use what earlier ones keep."""

INDEXED = frozenset({"deepseek_v32", "glm_moe_dsa"})
"""Beside the latent a key of `index_head_dim` is kept, by which tokens are chosen."""


def keeping(spec: Spec, values: Values | None, file: Path | None = None) -> Keeping:
    """What the layers of a model keep.

    Args:
        spec: of the model
        values: of its configuration; None where it comes from a GGUF file or a params.json
        file: the GGUF file, or None

    Raises:
        InputError: the architecture is not known here, or its files do not say enough
    """
    if values is None:
        return _other(spec, file)
    kind = values.model_type
    _one_shape(values)
    if kind in encoders() and not values.flag("is_decoder", default=values.keys.prefix.startswith("decoder.")):
        return Keeping((), encoder=True, notes=("it is an encoder: no token is generated, and nothing is cached",))
    if kind in ONLY:
        count = spec.layers or values.layers("num_hidden_layers")
        return Keeping((Cached("recurrent", "state", tuple(range(count)), states=states_of(values)),))
    if kind not in (*decoders(), *encoders(), *crossing_types(), *STATES, *SHARING, *INDEXED):
        raise unknown(spec, kind)
    if kind in crossing_types():
        found = crossing(values, attention_layers(spec) if kind == "mllama_text_model" else [])
        return Keeping(found.layers, False, found.encoder_tokens, found.source, True)
    layers = attention_layers(spec)
    if crosses(values):
        return Keeping((*layers, *(_crossed(cached) for cached in layers)), crosses=True, notes=_notes(spec, layers))
    if kind in STATES:
        layers += _states(spec, values, layers)
    elif kind in SHARING:
        layers = _shared(spec, values, layers)
    elif kind in INDEXED:
        layers += _indexed(values, layers)
    return Keeping(tuple(layers), notes=_notes(spec, layers))


def unknown(spec: Spec, kind: str) -> InputError:
    """The error for an architecture whose cache is not known."""
    shown = kind or "an architecture without a name"
    choices = gguf_decoders() if spec.container == "gguf" else decoders()
    return InputError(
        f"{spec.name}: what {shown!r} keeps of its tokens is not known here, and is not guessed from its heads"
        f"{suggestion(kind, choices).split(' (choices')[0]}"
    )


def crosses(values: Values) -> bool:
    """Whether a decoder that also stands alone attends to an encoder: it says so, or is half of a pair of models."""
    return values.flag("add_cross_attention", default=values.keys.prefix.startswith("decoder."))


def _crossed(cached: Cached) -> Cached:
    """Keys and values of an encoder's tokens, beside those of the decoder's own, with the same heads."""
    return replace(cached, name="cross_attention", kind="cross", window=None)


def _one_shape(values: Values) -> None:
    if isinstance(values.raw("num_key_value_heads"), list):
        raise InputError(
            f"{values.keys.label('num_key_value_heads')} differs from layer to layer, which is not known here and is "
            "not guessed"
        )


def _other(spec: Spec, file: Path | None) -> Keeping:
    if spec.container == "gguf" and spec.architecture not in gguf_decoders():
        raise unknown(spec, spec.architecture)
    layers = attention_layers(spec)
    latent = next((g.heads for g in spec.groups.values() if g.heads and g.heads.latent_dim is not None), None)
    # Without the width of a head after absorption in the file, llama.cpp makes keys and values before it keeps them.
    if latent is None or file is None or f"{spec.architecture}.attention.key_length_mla" in read_gguf(file).metadata:
        return Keeping(tuple(layers))
    why = "the file has no key_length_mla: llama.cpp then keeps keys and values of every head, and not the latent"
    return Keeping(tuple(expanded(layers, latent.head_dim, latent.value_dim)), notes=(why,))


def _states(spec: Spec, values: Values, layers: Sequence[Cached]) -> list[Cached]:
    if values.model_type == "zamba2" and any(cached.name != "hybrid" for cached in layers):
        raise InputError(f"{values.keys.label('layers_block_type')} is missing, which says what each layer is")
    attends = {layer for cached in layers for layer in cached.layers}
    if values.model_type in EVERY:
        own = list(range(spec.layers or 0))
    else:
        own = [layer for layer in range(spec.layers or 0) if layer not in attends]
        if values.model_type == "nemotron_h":  # its feed-forward layers stand among the others
            own = _mixers(values, own)
    return [Cached("recurrent", "state", tuple(own), states=states_of(values))] if own else []


def _mixers(values: Values, layers: Sequence[int]) -> list[int]:
    pattern = values.raw("hybrid_override_pattern")
    if isinstance(pattern, str):
        return [layer for layer in layers if pattern[layer] == "M"]
    listed = values.raw("layers_block_type") or values.raw("layer_types")
    if isinstance(listed, list):
        return [layer for layer in layers if listed[layer] in ("mamba", "linear_attention", "mamba2")]
    raise InputError(f"{values.keys.name}: hybrid_override_pattern is missing, which says what each layer is")


def _shared(spec: Spec, values: Values, layers: Sequence[Cached]) -> list[Cached]:
    shared = values.zero("num_kv_shared_layers", default=_SHARED.get(values.model_type, 0))
    first = (spec.layers or 0) - shared
    if first < 1:
        raise InputError(f"{values.keys.name}: num_kv_shared_layers must be below {spec.layers} layers, got {shared}")
    kept = [replace(cached, layers=tuple(layer for layer in cached.layers if layer < first)) for cached in layers]
    return [cached for cached in kept if cached.layers]


_SHARED = {"gemma3n_text": 15}


def _indexed(values: Values, layers: Sequence[Cached]) -> list[Cached]:
    numbers = tuple(sorted(layer for cached in layers for layer in cached.layers))
    return [Cached("indexer", "latent", numbers, 1, values.whole("index_head_dim", default=128), 0)]


def _notes(spec: Spec, layers: Sequence[Cached]) -> tuple[str, ...]:
    notes = []
    if any(cached.chunked for cached in layers):
        notes.append("layers with chunks keep at most the tokens of one chunk")
    if spec.architecture == "falcon" and any(1 < cached.heads < cached.query_heads for cached in layers):
        notes.append("transformers keeps its keys and values for every query head; other engines do as is said here")
    if spec.architecture == "gpt_oss":
        notes.append("its attention sinks are one learned logit a head: no entry of the cache")
    return tuple(notes)
