"""What a model does with position."""

from typing import Any, Literal

from ordinate.results.base import Record, Version

COMMAND = "ordinate describe MODEL --format json"
BEFORE = {"container", "fingerprint", "window", "groups", "sources", "warnings"}


class Window(Record, frozen=True):
    """Lengths that the files state.

    Args:
        trained: before stretching, [token]; null where it is not stated
        declared: that the model is said to serve, [token]; null where it is not stated
    """

    trained: int | None
    declared: int | None


class AttentionHeads(Record, frozen=True):
    """The shape of attention.

    Args:
        kind: the usual name of this shape
        query: query heads
        key_value: key and value heads
        head_dim: channels of a query or key head, its rotary part included
        value_dim: channels of a value head
        latent_dim: width of the cached latent where attention is MLA, else null
        rotary_key_dim: width of MLA's decoupled rotary key, else null
    """

    kind: Literal["MHA", "GQA", "MQA", "MLA"]
    query: int
    key_value: int
    head_dim: int
    value_dim: int
    latent_dim: int | None
    rotary_key_dim: int | None


class Group(Record, frozen=True):
    """Layers that do the same with position. What a scheme does not have is null.

    Args:
        scheme: the name of the positional scheme
        kind: the place at which it enters: "additive", "rotary", "bias" or "none"
        scheme_parameters: the scheme's own settings, by name
        scaling: the name of the scaling method
        scaling_parameters: the method's own settings, by name
        pairing: which channels turn together
        rotary_dim: channels of a head that turn
        pairs: of channels that turn
        base: of the frequencies, [1]
        frequencies: of each pair, after scaling, [rad/token]
        attention_factor: multiplies cos and sin, [1]
        wavelengths: tokens in which each pair turns once, [token]; null where a pair does not turn
        turns_in_trained_window: how often each pair turns within the trained window, [turn]
        slopes: of ALiBi, one a head, [logit/token]
        layers: indices of the layers of the group, from 0; null where the files do not count them
        heads: the shape of attention
        sliding_window: how far a query sees, [token]
        softmax_scale: of the scores, where it is not 1 / sqrt(head_dim), [1]
        temperature: how scores are scaled with the length, by name
    """

    scheme: str
    kind: str
    scheme_parameters: dict[str, Any]
    scaling: str | None
    scaling_parameters: dict[str, Any] | None
    pairing: str | None
    rotary_dim: int | None
    pairs: int | None
    base: float | None
    frequencies: list[float] | None
    attention_factor: float
    wavelengths: list[float | None] | None
    turns_in_trained_window: list[float] | None
    slopes: list[float] | None
    layers: list[int] | None
    heads: AttentionHeads | None
    sliding_window: int | None
    softmax_scale: float | None
    temperature: dict[str, Any] | None


class Describe(Record, frozen=True):
    """What a model does with position.

    Args:
        schema_version: of this schema
        kind: "describe"
        name: of the model
        architecture: as its files call it
        container: the form of the files that were read
        fingerprint: sha256 of everything that has to do with position, in hexadecimal
        length: tokens seen so far, for which frequencies are given; null as at construction, [token]
        layers: how many there are
        window: lengths that the files state
        groups: layers that do the same, by name
        sources: where each value was read, by the value's name
        warnings: what to beware of, a sentence each
    """

    schema_version: Version
    kind: Literal["describe"]
    name: str
    architecture: str
    container: str
    fingerprint: str
    length: int | None
    layers: int | None
    window: Window
    groups: dict[str, Group]
    sources: dict[str, str]
    warnings: list[str]


FORM = Describe
