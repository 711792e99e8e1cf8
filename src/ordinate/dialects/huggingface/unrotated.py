"""The schemes of model types that do not rotate: learned, sinusoidal, biases, or none."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from ordinate.dialects.huggingface.architectures import model_types
from ordinate.dialects.huggingface.keys import MAXIMUM_LENGTH, MAXIMUM_WIDTH, Keys, whole
from ordinate.dialects.huggingface.shape import MAXIMUM_HIDDEN, Shape
from ordinate.errors import InputError, boolean, got, non_negative_integer, positive
from ordinate.registry import suggestion
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.base import Scheme
from ordinate.schemes.deberta import Deberta
from ordinate.schemes.learned import LearnedPositions
from ordinate.schemes.none import NoPosition
from ordinate.schemes.shaw import Shaw
from ordinate.schemes.sinusoidal import Sinusoidal
from ordinate.schemes.t5 import T5
from ordinate.schemes.transformer_xl import TransformerXL
from ordinate.spec import Heads

# What transformers makes of them is known, and no scheme here does it.
_NOT_COVERED = {
    "prophetnet": "beside its learned table a layer of its own makes a logit for each bucket of distance from the "
    "states themselves"
}
# MPNet's code counts so many, whatever its configuration says.
_MPNET_BUCKETS, _MPNET_DISTANCE = 32, 128


@dataclass(frozen=True)
class Unrotated:
    """How a model that does not rotate knows position.

    Args:
        groups: a scheme for each group of layers
        length: how many positions it is made for, [token]; None where any
        sources: where the values are from
    """

    groups: dict[str, Scheme]
    length: int | None = None
    sources: dict[str, str] = field(default_factory=dict)


def read_unrotated(keys: Keys, shape: Callable[[], Shape]) -> Unrotated | None:
    """How this model type knows position, or None where it rotates or is not known.

    Args:
        keys: the configuration
        shape: reads the shape of attention, where a scheme needs it

    Raises:
        InputError: a value that the scheme needs is missing or out of range
    """
    word = keys.known.unrotated
    kind = keys.get("position_embedding_type")
    if keys.known.rotates == "alibi" and keys.flag("alibi"):
        heads = _one_shape(keys, shape)
        # Falcon adds the bias before it divides q k by sqrt(head_dim).
        return _everywhere(keys, Alibi(heads.query, scale=heads.head_dim**-0.5))
    if keys.known.rotates == "position_embedding_type" and kind not in ("rotary", "rope"):
        return _learned(keys, "after_padding") if kind == "absolute" else _everywhere(keys, NoPosition())
    if word is None:
        return None
    if word in ("plain", "after_padding", "after_two", "gpt_neo"):
        if kind in ("relative_key", "relative_key_query"):
            return _relative_keys(keys, shape, kind)
        return _learned(keys, word)
    if word in ("concatenated", "tensor2tensor"):
        return _sinusoidal(keys, word)
    if word == "either":
        return _everywhere(keys, Sinusoidal(_hidden(keys))) if keys.flag("sinusoidal_embeddings") else _learned(keys)
    if word == "alibi":
        return _everywhere(keys, Alibi(_one_shape(keys, shape).query))
    if word == "none":
        return _everywhere(keys, NoPosition())
    if word == "recurrent":
        keys.warn(f"{keys.model_type} has no attention: position enters it by recurrence")
        return Unrotated({"full_attention": NoPosition()})
    return OTHERS[word](keys, shape)


def refuse(keys: Keys) -> InputError:
    """The error of a configuration that says nothing of position, and whose model type does not either."""
    if not keys.model_type:
        return InputError(f"{keys.name}: nothing in this configuration says how the model knows position")
    if keys.model_type in _NOT_COVERED:
        return InputError(f"{keys.name}: {keys.model_type} is not covered: {_NOT_COVERED[keys.model_type]}")
    close = "" if keys.recognised else suggestion(keys.model_type, model_types()).split(" (")[0]
    return InputError(
        f"{keys.name}: nothing in this configuration says how the model knows position, and model_type "
        f"{got(keys.model_type)} is in no table here{close}"
    )


def _everywhere(keys: Keys, scheme: Scheme) -> Unrotated:
    return Unrotated({"full_attention": scheme}, keys.length())


def _hidden(keys: Keys) -> int:
    for key in ("embedding_size", "input_embedding_size", "hidden_size"):
        width = keys.integer(key, most=MAXIMUM_HIDDEN)
        if width is not None:
            return width
    raise InputError(f"{keys.label('hidden_size')} is missing")


def _one_shape(keys: Keys, shape: Callable[[], Shape]) -> Heads:
    heads = shape().heads
    if heads is None:
        raise InputError(f"{keys.label('num_attention_heads')} must be one number for all layers")
    return heads


def _rows(keys: Keys, key: str = "max_position_embeddings") -> int:
    length = keys.length(key)
    if length is None:
        raise InputError(f"{keys.label(key)} is missing: it is the length of the learned table")
    return length


def _learned(keys: Keys, word: str = "plain") -> Unrotated:
    length, source = _rows(keys), keys.found("max_position_embeddings").source
    rows = 2 if word == "after_two" else 0
    if word == "after_padding":
        padding = keys.get("pad_token_id")
        before = 0 if padding is None else non_negative_integer(keys.label("pad_token_id"), padding)
        rows = whole(keys.label("pad_token_id"), before + 1, MAXIMUM_WIDTH)
        length -= rows
        source += f" - {rows}: pad_token_id + 1 rows stand before the first position's"
        if length < 1:
            raise InputError(f"{keys.label('max_position_embeddings')} must be more than pad_token_id + 1, {rows}")
    scheme = LearnedPositions(length, _hidden(keys), rows)
    return Unrotated({"full_attention": scheme}, length, {"full_attention.length": source})


def _relative_keys(keys: Keys, shape: Callable[[], Shape], kind: str) -> Unrotated:
    if kind == "relative_key_query":
        label = keys.label("position_embedding_type")
        raise InputError(f"{label} 'relative_key_query' is not covered: it adds k times relative keys as well")
    heads, length = _one_shape(keys, shape), _rows(keys)
    keys.warn(f"position_embedding_type {kind!r} is read, though transformers 5.24 has absolute positions only")
    return Unrotated({"full_attention": Shaw(heads.query, heads.head_dim, left=max(length - 1, 1))}, length)


def _sinusoidal(keys: Keys, layout: Literal["concatenated", "tensor2tensor"]) -> Unrotated:
    if layout == "tensor2tensor":
        keys.warn(f"{keys.model_type} counts positions from 2: its table keeps the rows before for padding")
    frames = keys.length("max_source_positions")
    return Unrotated({"full_attention": Sinusoidal(_hidden(keys), layout=layout)}, frames or keys.length())


def _whisper(keys: Keys, shape: Callable[[], Shape]) -> Unrotated:
    del shape
    target, hidden = _rows(keys, "max_target_positions"), _hidden(keys)
    encoder = Sinusoidal(hidden, layout="tensor2tensor")
    keys.warn("the encoder reads at most max_source_positions frames; lengths here are the decoder's")
    return Unrotated({"encoder": encoder, "decoder": LearnedPositions(target, hidden)}, target)


def _led(keys: Keys, shape: Callable[[], Shape]) -> Unrotated:
    del shape
    hidden = _hidden(keys)
    keys.warn("the encoder's window and the tokens that see all of the text are not shown; lengths are the decoder's")
    rows = {name: _rows(keys, f"max_{name}_position_embeddings") for name in ("encoder", "decoder")}
    groups: dict[str, Scheme] = {name: LearnedPositions(length, hidden) for name, length in rows.items()}
    sources = {f"{name}.length": keys.found(f"max_{name}_position_embeddings").source for name in rows}
    return Unrotated(groups, rows["decoder"], sources)


def _mpnet(keys: Keys, shape: Callable[[], Shape]) -> Unrotated:
    found = keys.found("relative_attention_num_buckets")
    buckets = keys.integer("relative_attention_num_buckets") or _MPNET_BUCKETS
    if buckets < _MPNET_BUCKETS:
        raise InputError(
            f"{keys.label(found.key)} must be at least the {_MPNET_BUCKETS} that MPNet reads, got {buckets}"
        )
    if buckets > _MPNET_BUCKETS:
        keys.warn(f"{found.key} is {buckets}: MPNet reads the first {_MPNET_BUCKETS} alone")
    table = _learned(keys, "after_padding")
    keys.warn(f"a learned table of {table.length} positions is added to the input as well, and is not shown")
    scheme = T5(_MPNET_BUCKETS, _MPNET_DISTANCE, bidirectional=True, heads=_one_shape(keys, shape).query)
    return Unrotated({"full_attention": scheme}, table.length, {"full_attention.buckets": found.source})


def _t5(keys: Keys, shape: Callable[[], Shape]) -> Unrotated:
    heads = _one_shape(keys, shape).query
    buckets = keys.integer("relative_attention_num_buckets") or 32
    distance = keys.integer("relative_attention_max_distance", most=MAXIMUM_LENGTH) or 128
    groups: dict[str, Scheme] = {
        name: T5(buckets, distance, bidirectional=name == "encoder", heads=heads) for name in ("encoder", "decoder")
    }
    sources = {
        f"{name}.{field}": keys.found(key).source
        for name in groups
        for field, key in (
            ("buckets", "relative_attention_num_buckets"),
            ("max_distance", "relative_attention_max_distance"),
        )
    }
    return Unrotated(groups, keys.length(), sources)


def _mpt(keys: Keys, shape: Callable[[], Shape]) -> Unrotated:
    attention = keys.get("attn_config") or {}
    if not isinstance(attention, dict):
        raise InputError(f"{keys.label('attn_config')} must be an object, got {got(attention)}")
    flag = attention.get("alibi", keys.given("alibi"))
    if boolean(keys.label("attn_config.alibi"), True if flag is None else flag):
        most = attention.get("alibi_bias_max", 8)
        return _everywhere(
            keys, Alibi(_one_shape(keys, shape).query, positive(keys.label("attn_config.alibi_bias_max"), most))
        )
    keys.warn("alibi is false: MPT then learns a table, which transformers' own MPT does not have")
    return _learned(keys)


def _deberta(keys: Keys, shape: Callable[[], Shape]) -> Unrotated:
    if not keys.flag("relative_attention"):
        return _learned(keys)
    heads = _one_shape(keys, shape)
    parts = keys.get("pos_att_type")
    parts = parts.split("|") if isinstance(parts, str) else parts
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise InputError(f"{keys.label('pos_att_type')} must list c2p, p2c or both, got {got(parts)}")
    distance = keys.get("max_relative_positions")
    if not isinstance(distance, int) or distance < 1:
        distance = _rows(keys)
    buckets = keys.get("position_buckets")
    if keys.get("position_biased_input") is not False:
        keys.warn("position_biased_input: a learned table is added to the input as well, and is not shown")
    scheme = Deberta(
        heads.query,
        heads.head_dim,
        max_distance=whole(keys.label("max_relative_positions"), distance, MAXIMUM_LENGTH),
        buckets=buckets if isinstance(buckets, int) and buckets > 0 else 0,
        content_to_position="c2p" in parts,
        position_to_content="p2c" in parts,
    )
    return Unrotated({"full_attention": scheme}, keys.length())


def _transformer_xl(keys: Keys, shape: Callable[[], Shape]) -> Unrotated:
    heads = _one_shape(keys, shape)
    clamp = keys.get("clamp_len")
    clamp = whole(keys.label("clamp_len"), clamp, MAXIMUM_LENGTH) if isinstance(clamp, int) and clamp > 0 else 0
    scheme = TransformerXL(
        heads.query, heads.head_dim, keys.integer("hidden_size", most=MAXIMUM_HIDDEN) or 0, clamp_length=clamp
    )
    return Unrotated({"full_attention": scheme}, keys.length())


OTHERS = {
    "whisper": _whisper,
    "led": _led,
    "mpnet": _mpnet,
    "t5": _t5,
    "mpt": _mpt,
    "deberta": _deberta,
    "transformer_xl": _transformer_xl,
}
