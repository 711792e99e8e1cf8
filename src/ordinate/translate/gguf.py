"""A copy of a GGUF file whose keys and factor tensors say another spec, so that llama.cpp runs it."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from ordinate import models
from ordinate.dialects import llama_cpp
from ordinate.dialects.base import Loss
from ordinate.dialects.llama_cpp import words
from ordinate.dialects.llama_cpp.model_types import gguf_architecture
from ordinate.errors import InputError
from ordinate.files.gguf import GgufFile, read_gguf
from ordinate.files.gguf_copy import Change, copy_gguf
from ordinate.files.source import identify
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec

TOLERANCE = 1e-6
"""How far frequencies and magnitudes of the copy may be from the spec's, relative: float32 holds 6e-8."""


def write_copy(source: Path, out: Path, spec: Spec) -> tuple[Loss, ...]:
    """Write a copy of a GGUF file that says `spec`: its base, scaling and context length.

    Keys under `rope.scaling.` and factor tensors that say something else are left out; every other key and every
    tensor goes through byte for byte. Before the copy has its name it is read, and its tables are compared with the
    spec's at the trained and the declared length and past them.

    Args:
        source: the file; a part of a split model is refused
        out: where to write; must not exist
        spec: what the copy is to say, of the same model

    Returns:
        what of the copy llama.cpp does not heed

    Raises:
        InputError: another model, a scaling that GGUF has no words for, a file that cannot be read or written, or
            tables that the copy would not have
    """
    file = read_gguf(source)
    before = llama_cpp.read(file, name=source.name)
    check_fit(before, spec, source)
    spec = replace(spec, container="gguf", architecture=before.architecture)
    copied: list[Spec] = []

    def check(partial: Path) -> None:
        try:
            copied.append(llama_cpp.read(read_gguf(partial), name=out.name))
        except InputError as error:
            # The name that the copy has while it is written says nothing to anyone.
            raise InputError(f"the copy could not be read: {str(error).replace(str(partial), str(out))}") from None
        _compare(copied[0], spec, out)

    copy_gguf(file, out, _change(file, spec), check)
    return llama_cpp.LlamaCpp().interpret(copied[0]).losses


def unheeded(before: Spec, spec: Spec) -> tuple[Loss, ...]:
    """What llama.cpp would not heed of a copy of the file `before` is of that says `spec`."""
    spec = replace(spec, container="gguf", architecture=before.architecture)
    found = words.to_words(spec)
    held = {**found.keys, **{name: values.tolist() for name, values in found.tensors.items()}}
    return llama_cpp.LlamaCpp().interpret(words.as_read(spec, held)).losses


def find_file(source: str) -> Path:
    """The GGUF file of a path or of a model's name.

    Raises:
        InputError: what there is is no GGUF file, or there is nothing
        Unavailable: a named model's package is not installed
    """
    if not os.path.exists(source):
        return models.find(source).path
    found = identify(source)
    if found.kind != "gguf":
        raise InputError(f"a GGUF file is needed to copy, got {source}, which holds {found.file.name}")
    return found.file


def check_fit(before: Spec, spec: Spec, source: Path) -> None:
    """Raise where a spec is of another model than a GGUF file: in architecture, layers, or the width of heads."""
    wanted = gguf_architecture(spec)
    if wanted != before.architecture:
        raise InputError(f"{source} has architecture {before.architecture}, and the spec is of a {wanted}")
    shapes = [("layers", before.layers, spec.layers)]
    for name, group in spec.groups.items():
        other = before.groups.get(name)
        if other is None or not isinstance(group.encoding, Rotary) or not isinstance(other.encoding, Rotary):
            continue
        pair = other.heads, group.heads
        if pair[0] is not None and pair[1] is not None and pair[0].latent_dim is None and pair[1].latent_dim is None:
            shapes.append(("channels a head", pair[0].head_dim, pair[1].head_dim))
        shapes.append(("pairs a head", len(other.frequencies()), len(group.frequencies())))
    for what, ours, theirs in shapes:
        if ours is not None and theirs is not None and ours != theirs:
            raise InputError(f"{source} has {ours} {what}, and the settings are of a model with {theirs}")


def other_bases(before: Spec, spec: Spec) -> list[str]:
    """A line for each group whose base is not that of the file: settings of another model, or a larger base."""
    lines = []
    for name, group in spec.groups.items():
        other = before.groups.get(name)
        if other is not None and isinstance(group.encoding, Rotary) and isinstance(other.encoding, Rotary):
            ours, theirs = other.rope.base, group.rope.base
            # GGUF files keep float32.
            if abs(ours / theirs - 1) > TOLERANCE:
                lines.append(
                    f"{name}: the file's base is {ours:,.6g} and becomes {theirs:,.6g}: right only where the model was "
                    "trained or extended with that base"
                )
    return lines


def _change(file: GgufFile, spec: Spec) -> Change:
    """What has to be different for the file to say `spec`."""
    found = words.to_words(spec)
    prefix = f"{spec.architecture}."
    keys = {prefix + name: value for name, value in found.keys.items()}
    stale = {
        key
        for key in file.metadata
        if key.startswith(f"{prefix}rope.scaling.") and key.removeprefix(prefix) not in words.KEPT
    }
    stale |= {f"{prefix}rope.scale_linear"} & file.metadata.keys()
    tensors = {name for name in words.TENSORS if name in file.tensors}
    return Change(keys, frozenset(stale - keys.keys()), found.tensors, frozenset(tensors - found.tensors.keys()))


def _compare(copied: Spec, spec: Spec, out: Path) -> None:
    """Raise unless the copy's groups that rotate have the spec's tables."""
    turning = {name for name, group in spec.groups.items() if isinstance(group.encoding, Rotary)}
    found = {name for name, group in copied.groups.items() if isinstance(group.encoding, Rotary)}
    if turning != found:
        raise InputError(f"{out} would rotate in {sorted(found)}, and the spec does in {sorted(turning)}")
    trained, declared = spec.window.trained, spec.window.declared
    lengths = {None, trained, None if trained is None else trained + 1, declared}
    for name in turning:
        for length in lengths:
            _compare_group(copied.groups[name], spec.groups[name], length, out)


def _compare_group(copied: LayerGroup, wanted: LayerGroup, length: int | None, out: Path) -> None:
    ours, theirs = copied.frequencies(length), wanted.frequencies(length)
    if len(ours) != len(theirs):
        raise InputError(f"{out} would have {len(ours)} pairs in {wanted.layer_type}, and the spec has {len(theirs)}")
    relative = np.abs(ours - theirs) / np.where(theirs == 0, 1, np.abs(theirs))
    if relative.max(initial=0) > TOLERANCE:
        pair = int(relative.argmax())
        raise InputError(
            f"{out} cannot say this: pair {pair} of {wanted.layer_type} would turn by {ours[pair]:g} rad a token, and "
            f"the spec says {theirs[pair]:g}"
        )
    factors = copied.attention_factor(length), wanted.attention_factor(length)
    if abs(factors[0] / factors[1] - 1) > TOLERANCE:
        raise InputError(
            f"{out} cannot say this: the magnitude of {wanted.layer_type} would be {factors[0]:.6g}, and the spec says "
            f"{factors[1]:.6g}"
        )
