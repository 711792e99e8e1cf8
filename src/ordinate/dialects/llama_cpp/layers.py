"""Which layers of a GGUF file's model have a window, rotate, or have no attention at all."""

from dataclasses import dataclass, replace

from ordinate.dialects.llama_cpp.architectures import Architecture, Sliding
from ordinate.dialects.llama_cpp.keys import MAXIMUM_LAYERS, MAXIMUM_LENGTH, Keys
from ordinate.errors import InputError

DEFAULT_BASE = 10000.0
# What files have that mean no window at all.
NO_WINDOW = 2**31 - 1
# Windows that llama.cpp has whatever the file says.
ENGINE_WINDOWS = {"llama4": 8192, "smallthinker": 4096}
NOT_ROTATING = "_without_position"
"""Added to a layer type's name for those of its layers that do not rotate, where others do."""


@dataclass(frozen=True)
class Kind:
    """Layers that treat position alike.

    Args:
        name: the group's name, one of Hugging Face's layer types
        layers: their numbers
        window: how far they see, [token], or None for all
        local: they have a window and others have none, so that a file may have a base and widths for them
        rotates: they have position, where the architecture has
        stretched: their frequencies are stretched, where any are
        bases: the keys of their base, the first that is in the file counts
        default_base: their base where none is
    """

    name: str
    layers: tuple[int, ...]
    window: int | None = None
    local: bool = False
    rotates: bool = True
    stretched: bool = True
    bases: tuple[str, ...] = ("rope.freq_base",)
    default_base: float = DEFAULT_BASE


@dataclass(frozen=True)
class Layers:
    """How many layers a model has, those that predict further tokens not counted, and their kinds in order."""

    count: int
    kinds: tuple[Kind, ...]


def read_layers(keys: Keys, known: Architecture) -> Layers:
    """Sort the layers by what they do.

    Raises:
        InputError: the number of layers is missing or too large, or a list has no entry for each of them
    """
    count = keys.integer("block_count", most=MAXIMUM_LAYERS)
    if count is None:
        raise InputError(f"{keys.label('block_count')} is missing")
    further = keys.integer("nextn_predict_layers", zero=True, most=count - 1) or 0
    if further:
        keys.warn(f"{further} of {count} layers predict further tokens and are not counted")
    count -= further
    attends = _attending(keys, known, count)
    if not any(attends):
        raise InputError(f"{keys.file.path}: no layer of {keys.architecture} has attention, by its metadata")
    if not all(attends):
        keys.warn(f"{count - sum(attends)} of {count} layers have no attention and are in no group")
    numbers = [i for i in range(count) if attends[i]]
    window, source = _window(keys, known)
    if keys.get("attention.compress_ratios") is not None:
        kinds = _compressing(keys, count, numbers, window)
    else:
        slides, told = _sliding(keys, known, count, window)
        kinds = _kinds(known, numbers, window, slides, _rotating(keys, known, count, slides))
        source += told
    for kind in kinds:
        if kind.window is not None:
            keys.sources[f"{kind.name}.sliding_window"] = source
    return Layers(count, kinds)


def _kinds(
    known: Architecture, numbers: list[int], window: int | None, slides: tuple[bool, ...], rotates: tuple[bool, ...]
) -> tuple[Kind, ...]:
    """Gather the layers that have attention by whether they slide and rotate."""
    groups: dict[tuple[bool, bool], list[int]] = {}
    for i in numbers:
        groups.setdefault((slides[i], rotates[i]), []).append(i)
    mixed = len({slides[i] for i in numbers}) > 1
    kinds = []
    for (sliding, rotating), members in groups.items():
        # A window for all layers alike, of which the architecture says nothing, makes no type of its own.
        own = known.sliding or Sliding() if sliding and (mixed or known.sliding is not None) else None
        name = "full_attention" if own is None else "chunked_attention" if own.chunked else "sliding_attention"
        if not rotating and (sliding, True) in groups:
            name += NOT_ROTATING
        kind = Kind(name, tuple(members), window if sliding else None, rotates=rotating)
        kinds.append(kind if own is None else _local(kind, own))
    return tuple(kinds)


def _local(kind: Kind, own: Sliding) -> Kind:
    """The same layers with what the architecture has for those with a window."""
    if own.base is None:
        return replace(kind, local=True, stretched=own.scaled, bases=("rope.freq_base_swa", "rope.freq_base"))
    return replace(kind, local=True, stretched=own.scaled, bases=("rope.freq_base_swa",), default_base=own.base)


def _window(keys: Keys, known: Architecture) -> tuple[int | None, str]:
    """The window of layers that have one, None where none has, and where it is from."""
    name = "attention.sliding_window"
    value, source = keys.integer(name, most=MAXIMUM_LENGTH, zero=True), keys.full(name)
    if value is None and known.sliding is not None and known.sliding.window is not None:
        value, source = known.sliding.window, f"assumed {known.sliding.window}, the architecture's: {source} absent"
    if not value or value >= NO_WINDOW:
        return None, ""
    fixed = ENGINE_WINDOWS.get(keys.architecture)
    if fixed is not None and value != fixed:
        keys.warn(f"the file has a window of {value} tokens; llama.cpp takes {fixed} for every {keys.architecture}")
    if keys.architecture == "phi3":
        keys.warn(f"the file has a sliding window of {value} tokens; llama.cpp does not apply it to phi3")
    if known.sliding is not None and known.sliding.chunked:
        keys.warn(f"the window of {value} tokens is a chunk that starts anew, not one that slides")
    return value, source


def _sliding(keys: Keys, known: Architecture, count: int, window: int | None) -> tuple[tuple[bool, ...], str]:
    """Which layers have a window, and where that is from."""
    name = "attention.sliding_window_pattern"
    value = keys.get(name)
    if window is None:
        return (False,) * count, ""
    if known.sliding is None and value is None:
        keys.warn(f"the file has a sliding window of {window} tokens and no word on which layers: all are taken")
        return (True,) * count, ""
    if value is not None and not isinstance(value, int):
        return tuple(map(bool, keys.integers(name, count, most=1) or ())), f", {keys.full(name)}"
    period = known.sliding.period if known.sliding is not None and value is None else keys.integer(name, zero=True)
    if period is None:
        raise InputError(f"{keys.label(name)} is missing: which layers of {keys.architecture} slide is not implied")
    full = 0 if known.sliding is not None and known.sliding.full_first else period - 1
    slides = tuple(period == 0 or i % period != full for i in range(count))
    return slides, f", {keys.full(name)}" if value is not None else f", assumed: one layer in {period} is full"


def _rotating(keys: Keys, known: Architecture, count: int, slides: tuple[bool, ...]) -> tuple[bool, ...]:
    """Which layers rotate."""
    rule = known.without_rope
    if rule == "switch":
        # Granite's files use the key that elsewhere says whether a scaling was trained.
        return (keys.flag("rope.scaling.finetuned") is not False,) * count
    if rule == "listed":
        listed = keys.integers("attention.rope_pattern", count, most=1)
        return (True,) * count if listed is None else tuple(map(bool, listed))
    if not rule or (known.sliding is not None and not any(slides)):
        return (True,) * count
    if rule == "full":
        dense = keys.integer("leading_dense_block_count", zero=True) if keys.architecture == "cohere2moe" else 0
        return tuple(slides[i] or i < (dense or 0) for i in range(count))
    rest = 3 if rule == "every fourth" else 0
    return tuple(i % 4 != rest for i in range(count))


def _attending(keys: Keys, known: Architecture, count: int) -> tuple[bool, ...]:
    """Which layers have attention: those with key and value heads, and not listed as recurrent."""
    heads = keys.integers("attention.head_count_kv", count) or keys.integers("attention.head_count", count)
    attends = (True,) * count if heads is None else tuple(map(bool, heads))
    recurrent = keys.integers("attention.recurrent_layers", count, most=1)
    if recurrent is not None:
        return tuple(a and not r for a, r in zip(attends, recurrent, strict=True))
    if known.interval is not None:
        interval = keys.integer("full_attention_interval") or known.interval
        return tuple(a and (i + 1) % interval == 0 for i, a in enumerate(attends))
    return attends


def _compressing(keys: Keys, count: int, numbers: list[int], window: int | None) -> tuple[Kind, ...]:
    """DeepSeek-V4's two families: layers with a compression ratio have a base and a scaling of their own."""
    ratios = keys.integers("attention.compress_ratios", count) or (0,) * count
    main = tuple(i for i in numbers if not ratios[i])
    compress = tuple(i for i in numbers if ratios[i])
    base = ("attention.compress_rope_freq_base",)
    kinds = Kind("main", main, window, stretched=False), Kind("compress", compress, window, bases=base)
    return tuple(kind for kind in kinds if kind.layers)
