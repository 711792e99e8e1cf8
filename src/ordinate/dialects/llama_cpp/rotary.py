"""The rotary scheme of a group of layers in a GGUF file, before any stretching."""

from dataclasses import replace

from ordinate.dialects.llama_cpp.architectures import Architecture
from ordinate.dialects.llama_cpp.keys import MAXIMUM_WIDTH, Keys
from ordinate.dialects.llama_cpp.layers import Kind
from ordinate.dialects.llama_cpp.shape import Shape
from ordinate.errors import InputError, even_integer, positive
from ordinate.schemes.base import Rotary
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope
from ordinate.spec import Pairing

# llama.cpp refuses files of these architectures in which a part of the head turns.
WHOLE_HEAD = ("deci", "falcon", "llama", "llama-embed")


def read_rotary(keys: Keys, known: Architecture, shape: Shape, kind: Kind) -> tuple[Rotary, Pairing]:
    """Read which channels turn, how they are paired, and how fast.

    Returns:
        the scheme, and how the files pair channels: "unknown" where no engine says, and the scheme then has "half"

    Raises:
        InputError: a base that is not finite and > 0, an odd or too large width, sections that do not fit
    """
    if shape.head_dim is None:
        raise InputError(
            f"{keys.label('attention.key_length')} is missing, and cannot be taken from embedding_length and head_count"
        )
    base, source = _base(keys, kind)
    keys.sources[f"{kind.name}.base"] = source
    rotary_dim, source = _rotary_dim(keys, known, shape.head_dim, kind)
    keys.sources[f"{kind.name}.rotary_dim"] = source
    if rotary_dim != shape.head_dim and keys.architecture in WHOLE_HEAD:
        keys.warn(f"llama.cpp refuses {keys.architecture} files in which only {rotary_dim} channels turn")
    sections = _sections(keys, known, rotary_dim)
    if sections:
        keys.sources[f"{kind.name}.pairing"] = "multimodal RoPE: half in every GGUF file"
        layout = known.layout or "chunked"
        return Multimodal(shape.head_dim, sections, rotary_dim, base, "half", layout), "half"
    keys.sources[f"{kind.name}.pairing"] = f"architecture {keys.architecture}, container gguf"
    if known.pairing == "unknown":
        keys.warn(
            f"how channels are paired is unknown: GGUF files do not say, and architecture {keys.architecture} is in no "
            "table here; frequencies do not depend on it"
        )
    part = "last" if (known.rotates_last or shape.latent) and rotary_dim < shape.head_dim else "first"
    paired = "half" if known.pairing == "unknown" else known.pairing
    return Rope(shape.head_dim, rotary_dim, base, paired, part), known.pairing


def proportional(rope: Rotary, turning: int) -> Rope:
    """The scheme of a head whose first `turning` pairs turn and whose others do not."""
    if not isinstance(rope, Rope) or rope.part != "first":
        raise InputError(f"pairs that do not turn are known of plain RoPE only, got {rope.name}")
    return replace(rope, head_dim=rope.rotary_dim, rotary_dim=2 * turning, part="proportional")


def _base(keys: Keys, kind: Kind) -> tuple[float, str]:
    for name in kind.bases:
        base = keys.number(name)
        if base is not None:
            return positive(keys.label(name), base), keys.full(name)
    absent = " and ".join(map(keys.full, kind.bases))
    return kind.default_base, f"assumed {kind.default_base:g}, llama.cpp's default: {absent} absent"


def _rotary_dim(keys: Keys, known: Architecture, head_dim: int, kind: Kind) -> tuple[int, str]:
    share = 1.0 if kind.local else known.full_share
    name = "rope.dimension_count"
    value = keys.integer(f"{name}_swa", most=MAXIMUM_WIDTH) if kind.local else None
    if value is not None:
        name = f"{name}_swa"
    else:
        value = keys.integer(name, most=MAXIMUM_WIDTH)
    source = keys.full(name) if value is not None else f"assumed: the whole head, {keys.full(name)} is absent"
    rotary_dim = int((head_dim if value is None else value) * share)
    if rotary_dim > head_dim:
        raise InputError(f"{keys.label(name)} must be at most {head_dim}, the width of a head, got {rotary_dim}")
    return even_integer(keys.label(name), rotary_dim), source if share == 1 else f"{share:g} of {source}"


def _sections(keys: Keys, known: Architecture, rotary_dim: int) -> tuple[int, ...]:
    """The sections of multimodal RoPE, the empty ones at the end dropped; () where there are none."""
    name = "rope.dimension_sections"
    values = keys.vector(name, 4)
    # A single section over all pairs is plain RoPE: drafts for multimodal models carry one.
    if not any(values) or values[0] == rotary_dim // 2:
        return ()
    if known.layout is None:
        keys.warn(f"{keys.full(name)} {list(values)} is in the file, and {keys.architecture} has no use for it")
        return ()
    while values[-1] == 0:
        values = values[:-1]
    if 0 in values or sum(values) != rotary_dim // 2:
        raise InputError(f"{keys.label(name)} must add up to {rotary_dim // 2} pairs, got {list(values)}")
    return values
