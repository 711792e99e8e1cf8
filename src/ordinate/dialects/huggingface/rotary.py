"""The rotary scheme of a kind of layers: which channels turn, how fast, and how they are paired."""

from typing import Any, cast

from ordinate.dialects.huggingface.architectures import Switch
from ordinate.dialects.huggingface.keys import MAXIMUM_WIDTH, Keys, whole
from ordinate.dialects.huggingface.parameters import Parameters
from ordinate.dialects.huggingface.shape import Shape
from ordinate.errors import InputError, boolean, got, one_of
from ordinate.schemes.axial import Axial
from ordinate.schemes.base import Rotary
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope
from ordinate.spec import Pairing

RECORD = "ordinate_pairing"
"""The key by which a configuration says how its files pair channels, where a conversion changed that."""


def read_pairing(keys: Keys) -> tuple[Pairing, str]:
    """How the files pair channels, and how that is known.

    A conversion's note, `ordinate_pairing`, counts before what the architecture's code takes for granted.
    """
    known = keys.known.pairing
    model_type = keys.model_type or "this architecture"
    note = keys.given(RECORD)
    source = f"model_type {model_type}, container huggingface"
    if isinstance(known, Switch):
        found = keys.found(known.key)
        chosen = boolean(keys.label(known.key), True if found.value is None else found.value)
        known, source = known.true if chosen else known.false, f"model_type {model_type}, {found.source}"
    if note is not None:
        noted = one_of(keys.label(RECORD), note, ("half", "interleaved"))
        if known is None or not known.startswith(noted):
            turned = "" if known in (None, "unknown") else f"; transformers turns {known} for {model_type} all the same"
            keys.warn(f"{keys.where(RECORD)}: the files pair channels as {noted}{turned}")
            return cast(Pairing, noted), keys.where(RECORD)
    if known is None or known == "unknown":
        keys.warn(
            f"how channels are paired is unknown: configurations do not say, and model_type {model_type!r} is in no "
            "table here; frequencies do not depend on it"
        )
        return "unknown", "unknown"
    return cast(Pairing, known), source


def read_rotary(
    keys: Keys, entry: Parameters, shape: Shape, pairing: Pairing, layer_base: float | None = None
) -> tuple[Rotary, dict[str, str]]:
    """Read the scheme before any stretching, of layers that may have a base of their own.

    Returns:
        the scheme, and where its base and width are from

    Raises:
        InputError: an odd or too large width, a base that is not finite and > 0, sections that do not fit
    """
    base = entry.base if layer_base is None else layer_base
    sources = {"base": entry.source("rope_theta") if layer_base is None else keys.where("layer_rope_theta")}
    channels: Any = "interleaved" if pairing.startswith("interleaved") else "half"
    known = keys.known
    if known.note:
        keys.warn(f"{keys.model_type}: {known.note}")
    if entry.type == "axial" or known.scheme == "axial":
        return _axial(keys, shape, base, channels), sources | {"rotary_dim": shape.source}
    rotary_dim, sources["rotary_dim"] = _width(keys, entry, shape)
    if entry.type == "proportional":
        width = 2 * int(entry.partial * shape.head_dim // 2)
        if width == 0:
            raise InputError(f"{entry.label('partial_rotary_factor')} leaves no pair to turn, got {entry.partial:g}")
        return Rope(shape.head_dim, width, base, channels, "proportional", known.direction), sources
    if rotary_dim % 2:
        return _rounded(keys, entry, shape, rotary_dim, base, channels), sources
    part = "last" if (known.part == "last" or shape.latent) and rotary_dim < shape.head_dim else "first"
    # EfficientLoFTR turns its hidden state before it is cut into heads.
    rope = Rope(max(shape.head_dim, rotary_dim), rotary_dim, base, channels, part, known.direction)
    sections = _sections(keys, entry, rope)
    if sections is None:
        return rope, sources
    layout, pairs = sections
    return Multimodal(rope.head_dim, pairs, rotary_dim, base, channels, layout), sources


def _width(keys: Keys, entry: Parameters, shape: Shape) -> tuple[int, str]:
    """How many channels turn, and where that is from."""
    if shape.rotary_dim is not None:
        return shape.rotary_dim, shape.rotary_source
    found = keys.found("rotary_dim")
    if found.value is not None and "partial_rotary_factor" not in entry.values:
        width = whole(keys.label(found.key), found.value, MAXIMUM_WIDTH)
        if width > shape.head_dim:
            raise InputError(
                f"{keys.label(found.key)} must be at most {shape.head_dim}, the width of a head, got {width}"
            )
        return width, found.source
    if "partial_rotary_factor" not in entry.values:
        return shape.head_dim, f"the whole head, {shape.source}"
    share, source = entry.partial, entry.source("partial_rotary_factor")
    if keys.known.whole and entry.type == "default":
        if share != 1:
            keys.warn(f"{source} is {share:g}, and transformers turns the whole head of {keys.model_type} all the same")
        return shape.head_dim, f"the whole head, {shape.source}"
    width = int(shape.head_dim * share)
    if not 1 <= width <= max(shape.head_dim, keys.known.partial * shape.head_dim):
        raise InputError(
            f"{entry.label('partial_rotary_factor')} must leave 1 to {shape.head_dim} channels, got {width}"
        )
    return width, f"{source} of the head, {shape.source}"


def _rounded(keys: Keys, entry: Parameters, shape: Shape, width: int, base: float, channels: Any) -> Rope:
    """An odd width, which is refused unless it is that of transformers' own default configuration.

    transformers then has frequencies base ** (-2 i / width) for width + 1 channels. The same numbers are those of
    an even width and the base raised to (width + 1) / width.
    """
    defaults = ("hidden_size", "num_attention_heads", "head_dim", "rotary_dim")
    if not keys.recognised or not keys.at_default(*defaults) or entry.partial != keys.known.partial:
        raise InputError(
            f"{keys.name}: the rotary width must be even, because rotary channels turn in pairs, got {width} of "
            f"{shape.head_dim} channels"
        )
    even = width + 1
    keys.warn(
        f"the default configuration of {keys.model_type} turns {width} channels, an odd number, which no release does: "
        f"transformers rounds it up to {even}, with the frequencies of base {base:g} ** ({even} / {width})"
    )
    return Rope(max(shape.head_dim, even), even, base ** (even / width), channels)


def _axial(keys: Keys, shape: Shape, base: float, channels: Any) -> Axial:
    axes = keys.known.axes
    share = shape.head_dim // axes // 2
    if axes == 2 and shape.head_dim % 4:
        raise InputError(f"{keys.name}: axial rope over 2 axes needs a head width that 4 divides, got {shape.head_dim}")
    layout: Any = keys.known.layout or "blocks"
    if share == 0:
        raise InputError(f"{keys.name}: a head of {shape.head_dim} channels has no pair for each of {axes} axes")
    return Axial(shape.head_dim, axes, 2 * axes * share, base, channels, layout, keys.known.spectrum)


def _sections(keys: Keys, entry: Parameters, rope: Rope) -> tuple[Any, tuple[int, ...]] | None:
    """How the axes of multimodal RoPE share the pairs, or None for plain RoPE."""
    multimodal = keys.known.scheme == "multimodal"
    key = next((k for k in ("mrope_section", "xdrope_section") if entry.values.get(k) is not None), None)
    if not multimodal and (keys.recognised or key is None):
        if key is not None and keys.recognised:
            keys.warn(
                f"{entry.source(key)}: how {keys.model_type} shares channels among axes is not covered; read as RoPE"
            )
        return None
    layout = keys.known.layout or ("interleaved" if entry.values.get("mrope_interleaved") is True else "chunked")
    if key is None:
        sections = keys.known.sections
        if sections == "halves":
            return layout, (rope.pairs // 2, rope.pairs // 2)
        if not sections:
            return None
        if layout == "interleaved":
            # The rotary class gives the first axis what the others leave, whatever its own section says.
            first = rope.pairs - sum(sections[1:])
            return (layout, (first, *sections[1:])) if first >= max(sections[1:]) else None
        if sum(sections) != rope.pairs:
            keys.warn(
                f"{entry.source('mrope_section')} is missing, and transformers' default {sections} does not add up to "
                f"{rope.pairs} pairs: read as RoPE, which text is under either"
            )
            return None
        return layout, _ordered(layout, tuple(sections))
    values = entry.values[key]
    if not isinstance(values, list | tuple) or not values:
        raise InputError(f"{entry.label(key)} must be a list of pairs an axis, got {got(values)}")
    sections = tuple(whole(f"{entry.label(key)}[{i}]", value, MAXIMUM_WIDTH) for i, value in enumerate(values))
    if sum(sections) != rope.pairs:
        raise InputError(f"{entry.label(key)} must add up to {rope.pairs} pairs, got {list(values)}")
    return layout, _ordered(layout, sections)


def _ordered(layout: str, sections: tuple[int, ...]) -> tuple[int, ...]:
    """Sections in the order of the positions: Ernie's configurations have time last."""
    return (sections[-1], *sections[:-1]) if layout == "time-last" else sections
