"""The keys that say a scheme which does not rotate, in an architecture's own names."""

from collections.abc import Callable
from typing import Any

from ordinate.dialects.huggingface.architectures import Architecture
from ordinate.errors import InputError
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.base import Rotary
from ordinate.schemes.deberta import Deberta
from ordinate.schemes.learned import LearnedPositions
from ordinate.schemes.none import NoPosition
from ordinate.schemes.shaw import Shaw
from ordinate.schemes.sinusoidal import Sinusoidal
from ordinate.schemes.t5 import T5
from ordinate.schemes.transformer_xl import TransformerXL
from ordinate.spec import Spec

Put = Callable[[str, Any], None]
_MPNET_ROWS = 2
WIDTHS = ("embedding_size", "input_embedding_size", "hidden_size")


def unrotated_words(spec: Spec, known: Architecture, put: Put) -> dict[str, Any]:
    """Say a learned table, sinusoids, ALiBi, T5's buckets or none; the architecture decides which of them it can be.

    Args:
        spec: a model of which no layer rotates
        known: its architecture
        put: sets a key by the name that the architecture gives it

    Returns:
        keys that have one name everywhere

    Raises:
        InputError: the architecture has no such scheme, or it is none that a configuration can say
    """
    if known.unrotated is None and known.rotates not in ("alibi", "position_embedding_type"):
        raise InputError(f"{spec.architecture!r} rotates, and no key says otherwise: {spec.name} does not rotate")
    if spec.window.declared is not None and known.unrotated != "whisper":
        put("max_position_embeddings", spec.window.declared)
    words: dict[str, Any] = {}
    for group in spec.groups.values():
        scheme = group.encoding
        match scheme:
            case LearnedPositions():
                if known.unrotated == "after_padding" or known.rotates == "position_embedding_type":
                    put("max_position_embeddings", scheme.length + scheme.offset)
                    words["pad_token_id"] = scheme.offset - 1
                elif known.unrotated == "whisper":
                    words["max_target_positions"] = scheme.length
                elif known.unrotated == "led":
                    words[f"max_{group.layer_type}_position_embeddings"] = scheme.length
                else:
                    put("max_position_embeddings", scheme.length)
                if known.rotates == "position_embedding_type":
                    words["position_embedding_type"] = "absolute"
                if known.unrotated == "either":
                    words["sinusoidal_embeddings"] = False
                if known.unrotated == "deberta":
                    words["relative_attention"] = False
                _width(known, put, scheme.dim)
            case Sinusoidal():
                _width(known, put, scheme.dim)
                if known.unrotated == "either":
                    words["sinusoidal_embeddings"] = True
                if "max_source_positions" in known.defaults and known.unrotated != "whisper":
                    words["max_source_positions"] = spec.window.declared
            case Alibi():
                put("num_attention_heads", scheme.heads)
                if known.unrotated == "mpt":
                    words["attn_config"] = {"alibi": True, "alibi_bias_max": scheme.bias_max}
                elif known.rotates == "alibi":
                    words["alibi"] = True
            case T5() if known.unrotated == "mpnet":
                # Which rows its learned table keeps for padding no spec says: those of its releases.
                put("max_position_embeddings", (spec.window.declared or 0) + _MPNET_ROWS)
                words["pad_token_id"] = _MPNET_ROWS - 1
            case T5():
                words["relative_attention_num_buckets"] = scheme.buckets
                words["relative_attention_max_distance"] = scheme.max_distance
            case Deberta():
                words |= _deberta(scheme)
            case TransformerXL():
                put("hidden_size", scheme.dim)
                words["clamp_len"] = scheme.clamp_length or -1
            case Shaw():
                words["position_embedding_type"] = "relative_key"
                put("max_position_embeddings", scheme.left + 1)
            case NoPosition():
                if known.rotates == "position_embedding_type":
                    words["position_embedding_type"] = "nope"
            case Rotary():
                # Settings that no layer has: they are said, and not applied.
                continue
            case _:
                raise InputError(f"no key of a configuration says {scheme}")
    if known.unrotated == "gpt_neo":
        words |= _global_and_local(spec)
    return words


def _global_and_local(spec: Spec) -> dict[str, Any]:
    """GPT-Neo's layers: one that has no window is global."""
    reaches = {layer: group.sliding_window for group in spec.groups.values() for layer in group.layers or ()}
    windows = {window for window in reaches.values() if window is not None}
    if spec.layers is None or len(reaches) != spec.layers or len(windows) > 1:
        raise InputError(f"gpt_neo needs to know of each layer whether it has a window, and has one: {spec.name}")
    types = ["global" if reaches[layer] is None else "local" for layer in range(spec.layers)]
    return {"attention_types": [[types, 1]]} | ({"window_size": windows.pop()} if windows else {})


def _width(known: Architecture, put: Put, width: int) -> None:
    own = next((key for key in WIDTHS if known.names.get(key, key) in known.defaults), "hidden_size")
    put(own, width)


def _deberta(scheme: Deberta) -> dict[str, Any]:
    parts = [word for word, said in (("c2p", scheme.content_to_position), ("p2c", scheme.position_to_content)) if said]
    return {
        "relative_attention": True,
        "position_biased_input": False,
        "pos_att_type": parts,
        "max_relative_positions": scheme.max_distance,
        "position_buckets": scheme.buckets or -1,
    }
