"""What a model does with position: one frozen value that everything else reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ordinate.errors import InputError
from ordinate.scaling.base import Scaling, checked_length
from ordinate.schemes.base import Bias, Rotary, Scheme
from ordinate.temperature import QueryTemperature

# Far beyond any model's, which turn by 1 rad a token or so; it keeps angles and wavelengths within float64.
MAXIMUM_FREQUENCY = 1e100
# It keeps tables within float32.
MAXIMUM_ATTENTION_FACTOR = 1e30

Pairing = Literal["half", "interleaved", "interleaved-in-half-out", "unknown"]


@dataclass(frozen=True)
class Window:
    """How far a model reaches, [token]; None where its files do not say.

    Args:
        trained: the length it was trained at before any stretching
        declared: the length its files promise, stretching included
    """

    trained: int | None
    declared: int | None


@dataclass(frozen=True)
class Heads:
    """The shape of attention.

    Args:
        query: query heads
        key_value: key and value heads (1: MQA; fewer than query: GQA)
        head_dim: channels of a query or key head, its rotary part included
        value_dim: channels of a value head
        latent_dim: width of the cached latent where attention is MLA, else None
        rotary_key_dim: width of MLA's decoupled rotary key, else None
    """

    query: int
    key_value: int
    head_dim: int
    value_dim: int
    latent_dim: int | None = None
    rotary_key_dim: int | None = None

    @property
    def kind(self) -> Literal["MHA", "GQA", "MQA", "MLA"]:
        """The usual name of this shape."""
        if self.latent_dim is not None:
            return "MLA"
        if self.key_value == self.query:
            return "MHA"
        return "MQA" if self.key_value == 1 else "GQA"


@dataclass(frozen=True)
class LayerGroup:
    """The layers of a model that treat position alike.

    Args:
        layer_type: Hugging Face's name of the group, "full_attention" where a config has none
        encoding: the scheme with its numbers
        stretch: the scaling method with its numbers, or None
        pairing: how the *files* pair channels, or "unknown"; None where nothing rotates
        layers: the layers of the group, or None where the files do not say
        heads: the shape of attention, or None where the files do not say
        sliding_window: how many tokens a query sees, or None for all, [token]
        softmax_scale: what multiplies q k, or None for 1 / sqrt(head_dim)
        temperature: query temperature, or None
    """

    layer_type: str
    encoding: Scheme
    stretch: Scaling | None = None
    pairing: Pairing | None = None
    layers: tuple[int, ...] | None = None
    heads: Heads | None = None
    sliding_window: int | None = None
    softmax_scale: float | None = None
    temperature: QueryTemperature | None = None

    @property
    def scheme(self) -> str:
        """The scheme's registered name."""
        return self.encoding.name

    @property
    def scaling(self) -> str | None:
        """The scaling method's registered name, or None."""
        return None if self.stretch is None else self.stretch.name

    @property
    def rotary_dim(self) -> int | None:
        """Channels that turn, or None where nothing rotates."""
        return self.encoding.rotary_dim if isinstance(self.encoding, Rotary) else None

    @property
    def rope(self) -> Rotary:
        """The rotary scheme, or an `InputError` that names what the group has instead."""
        if not isinstance(self.encoding, Rotary):
            raise InputError(f"group {self.layer_type!r} has no rotary frequencies: its scheme is {self.scheme}")
        return self.encoding

    def frequencies(self, length: int | None = None) -> np.ndarray:
        """The frequencies in use after scaling.

        Args:
            length: tokens seen so far; None for what an engine holds at construction, [token]

        Returns:
            [pairs], float64, [rad/token]

        Raises:
            InputError: nothing rotates in this group, or a base or divisor next to 0 makes it turn beyond all measure
        """
        checked_length(length)
        with np.errstate(over="ignore"):
            used = self.rope.plain() if self.stretch is None else self.stretch.frequencies(self.rope, length)
        fastest = np.abs(used).max(initial=0)
        if not fastest <= MAXIMUM_FREQUENCY:
            raise InputError(
                f"group {self.layer_type!r} must turn by at most {MAXIMUM_FREQUENCY:g} rad a token, got {fastest:g} "
                f"from base {self.rope.base:g}"
            )
        return used

    def attention_factor(self, length: int | None = None) -> float:
        """What multiplies cos and sin, [1]; 1 where nothing rotates."""
        checked_length(length)
        factor = 1.0 if self.stretch is None else self.stretch.attention_factor(length)
        if not factor <= MAXIMUM_ATTENTION_FACTOR:
            raise InputError(
                f"group {self.layer_type!r} must have an attention_factor of at most {MAXIMUM_ATTENTION_FACTOR:g}, got "
                f"{factor:g}"
            )
        return factor

    def table(self, positions: Any, length: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The cos and sin that the rotation reads, `attention_factor` included.

        Angles, cos, sin and the product are float64; the result is rounded to float32 once.

        Args:
            positions: [positions], integer, [token]; [axes, positions] for axial and multimodal schemes
            length: as in `frequencies`

        Returns:
            cos, sin: [positions, pairs] each, float32. A scheme of direction -1 has its sign in sin.

        Raises:
            InputError: nothing rotates in this group, or its magnitude differs between q and k (xPos)
        """
        if self.rope.magnitudes(np.zeros(0, dtype=np.int64)) is not None:
            raise InputError(f"{self.scheme} scales q and k apart: use its `angles` and `magnitudes`")
        angles, factor = self.rope.angles(positions, self.frequencies(length)), self.attention_factor(length)
        return (np.cos(angles) * factor).astype(np.float32), (np.sin(angles) * factor).astype(np.float32)

    @property
    def slopes(self) -> np.ndarray | None:
        """ALiBi's slopes, [heads], or None where the group has none."""
        return getattr(self.encoding, "slopes", None) if isinstance(self.encoding, Bias) else None


@dataclass(frozen=True)
class Spec:
    """What a model does with position.

    Args:
        name: what the model calls itself, or the file it was read from
        architecture: its `model_type` or GGUF architecture
        container: whose file it was read from: "huggingface", "gguf", "meta" or "mistral"
        groups: one `LayerGroup` a layer type
        window: trained and declared length
        layers: how many layers, or None where the files do not say
        sources: for each value, the key it was read from, or "assumed" and why
        warnings: what a reader of the files should know, one line each
    """

    name: str
    architecture: str
    container: Literal["huggingface", "gguf", "meta", "mistral"]
    groups: Mapping[str, LayerGroup]
    window: Window
    layers: int | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.groups:
            raise InputError(f"{self.name}: a spec needs at least one layer group")
        for name, group in self.groups.items():
            if group.layer_type != name:
                raise InputError(f"group {name!r} calls itself {group.layer_type!r}")

    @property
    def group(self) -> LayerGroup:
        """The only group; an `InputError` where there are several."""
        if len(self.groups) != 1:
            raise InputError(f"{self.name} has {len(self.groups)} layer groups: choose from {', '.join(self.groups)}")
        return next(iter(self.groups.values()))
