"""What llama.cpp computes for a model, and what a shifted key cache does to it."""

from dataclasses import replace
from typing import Literal

from ordinate.dialects.base import Interpretation, Loss
from ordinate.dialects.llama_cpp.architectures import SLIDING
from ordinate.dialects.llama_cpp.methods import CONVERSION, Setting, run, widest
from ordinate.dialects.llama_cpp.model_types import gguf_architecture
from ordinate.errors import non_negative_integer, positive_integer
from ordinate.scaling.base import Scaling
from ordinate.scaling.linear import Linear
from ordinate.schemes.base import Rotary
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup, Spec


def interpret(spec: Spec, capacity: int | None = None) -> Interpretation:
    """What llama.cpp computes for a model whose files, or flags, say `spec`.

    A model in a Hugging Face, Meta or Mistral directory is converted by convert_hf_to_gguf.py first, which writes
    less than the configuration has; of a GGUF file all is there, and not all is read. Flags reach the layers that
    have no window of their own.

    Args:
        spec: what the files say; a group whose source is a flag was read by `read`
        capacity: the context of a sequence, `-c`; llama.cpp allocates the declared window by itself, [token]

    Source: llama.cpp (ggml 0.25): conversion/, src/llama-context.cpp, src/llama-model.cpp, ggml/src/ggml.c.
    """
    if capacity is not None:
        positive_integer("capacity", capacity)
    word = gguf_architecture(spec)
    main = main_group(spec)
    if main is None:
        return Interpretation(spec)
    room, key = capacity or spec.window.declared, spec.sources.get("attention_factor", "")
    by = origin(spec, main)
    setting = Setting(by, word, spec.window, room, key)
    # Flags reach the main layers alone; what the others have is in the file, or is written into it.
    file = (
        replace(setting, origin="configuration" if spec.container != "gguf" else "keys") if by == "flags" else setting
    )
    groups: dict[str, LayerGroup] = {}
    losses: list[Loss] = []
    for name, group in spec.groups.items():
        groups[name] = group
        if not isinstance(group.encoding, Rotary):
            continue
        if name == main:
            stretch, found = run(group.stretch, group.rope, setting)
        elif by == "flags" and file.origin == "keys":
            stretch, found = run(group.stretch, group.rope, file)
        else:
            stretch, found = _beside(group, spec.groups[main], word, file)
            group, based = _based(group, spec.groups[main], word)
            found = [*found, *based]
        groups[name] = replace(group, stretch=stretch)
        losses += [replace(loss, group=name if len(spec.groups) > 1 else None) for loss in found]
    return Interpretation(replace(spec, groups=groups), tuple(losses))


def is_local(layer_type: str) -> bool:
    """Whether these layers have a window, and so in GGUF files a base of their own and the others' scaling or none."""
    return "sliding" in layer_type or "chunked" in layer_type


def main_group(spec: Spec) -> str | None:
    """The group whose base and scaling the keys and flags give; None where nothing rotates."""
    turning = [name for name, group in spec.groups.items() if isinstance(group.encoding, Rotary)]
    stretched = [name for name in turning if spec.groups[name].stretch is not None]
    for name in ("full_attention", "compress"):
        if name in turning:
            return name
    outside = [name for name in turning if not is_local(name)]
    return next(iter([*outside, *stretched, *turning]), None)


def origin(spec: Spec, group: str) -> Literal["configuration", "keys", "flags"]:
    """Where the scaling of a group was said."""
    source = spec.sources.get(f"{group}.scaling", "")
    if source.startswith("--"):
        return "flags"
    return "keys" if spec.container == "gguf" or source.startswith("GGUF") else "configuration"


def growth_by_shifts(attention_factor: float, shifts: int) -> float:
    """What cached keys are multiplied by once a full cache was shifted so many times (`--context-shift`).

    attention_factor ** shifts

    llama.cpp turns cached keys on by the rotation that also scales them, so that each shift applies the magnitude
    of YaRN or LongRoPE once more; 1 is right.

    Args:
        attention_factor: the magnitude of the scaling, [1]
        shifts: how many times the cache was shifted

    Source: ggml-org/llama.cpp, src/llama-kv-cache.cpp, build_rope_shift.

    >>> from ordinate.scaling.yarn import magnitude
    >>> round(growth_by_shifts(magnitude(4.0), 1), 3), round(growth_by_shifts(magnitude(4.0), 5), 2)
    (1.139, 1.91)
    """
    return attention_factor ** non_negative_integer("shifts", shifts)


def _based(group: LayerGroup, main: LayerGroup, word: str) -> tuple[LayerGroup, list[Loss]]:
    """Layers with a window have the base of the others where the architecture has no key for theirs."""
    ours, theirs = group.rope, main.rope
    if not is_local(group.layer_type) or word in SLIDING or ours.base == theirs.base or not isinstance(ours, Rope):
        return group, []
    what = f"{ours.base:g} is not read for {word}: these layers get {theirs.base:g}"
    loss = Loss("rope_theta of a layer type", what, "ggml-org/llama.cpp, src/models/")
    return replace(group, encoding=replace(ours, base=theirs.base)), [loss]


def _beside(group: LayerGroup, main: LayerGroup, word: str, setting: Setting) -> tuple[Scaling | None, list[Loss]]:
    """The scaling of layers other than the main ones: the main ones' where the architecture says so, or none."""
    known = SLIDING.get(word)
    shared = known.scaled if known is not None and is_local(group.layer_type) else group.layer_type not in ("main",)
    stretch, losses = run(main.stretch, group.rope, setting) if shared else (None, [])
    if group.stretch == main.stretch and shared:
        return stretch, losses
    said, ran = group.stretch or Linear(1.0), stretch or Linear(1.0)
    error, pair = widest(said, ran, group.rope)
    factors = said.attention_factor(), ran.attention_factor()
    if error <= 1e-6 and abs(factors[0] - factors[1]) <= 1e-6:
        return group.stretch, []
    what = (
        f"scaling of its own is not written; these layers get {'the others' if shared else 'none'}: pair {pair} is "
        f"{error:.1%} off, magnitude {factors[1]:.6g} where the model has {factors[0]:.6g}"
    )
    return stretch, [Loss("rope_parameters of a layer type", what, CONVERSION)]
