"""What transformers' code says about position where its configurations do not: a table by model type."""

from importlib.resources import files
from typing import Any, Literal

import msgspec

Rotates = Literal[
    "sliding",
    "sliding if any",
    "no_rope_layers",
    "layer_rope_theta",
    "use_mem_rope",
    "position_embedding_type",
    "alibi",
]

Unrotated = Literal[
    "plain",
    "after_padding",
    "after_two",
    "concatenated",
    "tensor2tensor",
    "either",
    "gpt_neo",
    "whisper",
    "mpnet",
    "led",
    "alibi",
    "mpt",
    "t5",
    "deberta",
    "transformer_xl",
    "none",
    "recurrent",
]


class Switch(msgspec.Struct, frozen=True):
    """A pairing that a boolean key of the configuration chooses."""

    key: str
    true: str
    false: str


class Architecture(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One model type.

    Args:
        theta: the base where a configuration has none, one for all or one a layer type; absent where nothing rotates
        pairing: how its files pair channels, "unknown" where its code has another form of rotation
        direction: -1 where pairs turn the other way
        part: which channels turn
        whole: plain RoPE turns the whole head, whatever `partial_rotary_factor` says
        partial: `partial_rotary_factor` where a configuration has none
        rope: `rope_parameters` where a configuration has none
        type: the rope type that "default" stands for
        legacy_types: rope types that its configurations have under another name
        alpha: `rope_type` "dynamic" with an `alpha` is NTK-aware scaling by that number
        magnitudes: LongRoPE has a magnitude for each list, `short_mscale` and `long_mscale`
        scheme: the rotary scheme
        axes, layout, spectrum, sections: the scheme's; sections where a configuration has none
        note: what the scheme does not say
        labels: layer types by the name of their `rope_parameters`, where these are not layer types
        flat: which of several `rope_parameters` a single one is for; all where empty
        counts_after: its releases have `max_position_embeddings` after linear scaling, where others have it before
        rotates: which layers rotate, where not all do
        nope_from_end: every fourth layer, from the last, does not rotate where the configuration has no list
        pattern: the period of layer types where a configuration lists none
        from_end: the pattern ends with the last layer, instead of beginning with the first
        last: the type that the last layer always has
        interval: the key that gives the pattern's length
        layers: the layer types of the default configuration, where they have no period
        overrides: keys that a layer type has otherwise than the rest
        unrotated: how it knows position where nothing rotates: a learned table with a row a position ("plain"),
            with `pad_token_id` + 1 or 2 rows before the first's; a layout of sinusoids; learned or sinusoids by
            `sinusoidal_embeddings` ("either"); or a model or scheme with rules of its own
        scale: what multiplies q k, where not 1 / sqrt(head_dim): a key, a rule, or a number
        temperature: the form of query temperature
        text: the key of a composite configuration's language model, and its model type
        marks: keys by which a configuration without a model type is known
        names: what the configuration calls a key
        old_names: what old files call a key, which transformers puts before the name of today
        grouped: query heads may share key and value heads; where not, each has its own, whatever a configuration says
        defaults: values of keys that a configuration leaves out
    """

    theta: float | dict[str, float] | None = None
    pairing: str | Switch | None = None
    direction: Literal[1, -1] = 1
    part: Literal["first", "last"] = "first"
    whole: bool = False
    partial: float = 1.0
    rope: dict[str, Any] | None = None
    type: Literal["default", "axial"] = "default"
    legacy_types: dict[str, str] = {}
    alpha: bool = False
    magnitudes: bool = False
    scheme: Literal["rope", "multimodal", "axial"] = "rope"
    axes: int = 2
    layout: str | None = None
    spectrum: Literal["shared", "split"] = "shared"
    sections: list[int] | Literal["halves"] | None = None
    note: str | None = None
    labels: dict[str, list[str]] = {}
    flat: list[str] = []
    counts_after: bool = False
    rotates: Rotates | None = None
    nope_from_end: bool = False
    pattern: list[str] | None = None
    from_end: bool = False
    last: str | None = None
    interval: str | None = None
    layers: list[str] | None = None
    overrides: dict[str, dict[str, Any]] = {}
    unrotated: Unrotated | None = None
    scale: str | float | None = None
    temperature: Literal["llama4", "ministral3"] | None = None
    text: tuple[str, str] | None = None
    marks: list[str] = []
    names: dict[str, str] = {}
    old_names: dict[str, str] = {}
    grouped: bool = True
    defaults: dict[str, Any] = {}


class _Table(msgspec.Struct):
    source: str
    architectures: dict[str, msgspec.Raw]


def model_types() -> list[str]:
    """The model types in the table."""
    return list(_table().architectures)


def architecture(model_type: str) -> Architecture | None:
    """What is known of a model type, or None."""
    entry = _table().architectures.get(model_type)
    return None if entry is None else msgspec.json.decode(entry, type=Architecture)


def _table() -> _Table:
    return msgspec.json.decode(
        (files("ordinate.dialects.huggingface") / "architectures.json").read_bytes(), type=_Table
    )
