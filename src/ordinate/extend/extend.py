"""A complete model directory with a longer window."""

import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ordinate.dialects import read
from ordinate.dialects.huggingface.keys import MAXIMUM_LENGTH
from ordinate.dialects.huggingface.spelling import rope_parameters
from ordinate.errors import InputError, got, positive_integer
from ordinate.extend.card import write_card
from ordinate.extend.choose import choose
from ordinate.extend.files import copy_files, write_configuration
from ordinate.extend.methods import Stretched, methods, stretch
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec
from ordinate.transformers.convert import Report, convert
from ordinate.weights.directory import check_directory, new_directory


class Extension(msgspec.Struct, frozen=True):
    """What was done to a model's window.

    Args:
        source: what the model is called
        origin: what it is and where it comes from, where that is known
        directory: where the new model is
        method: by which method
        why: why this one, where it was chosen
        factor: the method's factor, or None where it has none, [1]
        trained: the length that the model was trained at before any scaling, [token]
        declared: the length that the new configuration declares, [token]
        parameters: the new `rope_parameters`
        sha256: of the source's files, by name, in hexadecimal
        licence: of the source, where it is known
        files: the names of the files in the directory
    """

    source: str
    origin: str | None
    directory: str
    method: str
    why: str
    factor: float | None
    trained: int
    declared: int
    parameters: dict[str, Any]
    sha256: dict[str, str]
    licence: str | None
    files: tuple[str, ...]


def extend(
    source: str | Path,
    *,
    to: int,
    method: str = "yarn",
    out: str | Path,
    factor: float | None = None,
    base: float | None = None,
    beta_fast: float | None = None,
    beta_slow: float | None = None,
    attention_factor: float | None = None,
    low_freq_factor: float | None = None,
    high_freq_factor: float | None = None,
    short_factor: list[float] | None = None,
    long_factor: list[float] | None = None,
    progress: Report | None = None,
    cache: Path | None = None,
) -> Extension:
    """Write a copy of a model whose window is stretched; its weights are those of the source, it is not trained on.

    The new directory holds weights, tokenizer, config.json in the spelling of transformers v5 and a model card. It
    appears whole or not at all, and never in the place of another. Before it appears its configuration is read
    back, and the frequencies that it leads to are compared with those intended.

    Args:
        source: a Hugging Face directory, a GGUF file, or a name of `ordinate.models`
        to: the window wanted, longer than the one the source declares, [token]
        method: one of `ordinate.extend.methods.methods()`, or "auto", which chooses and says why
        out: the directory to be made
        factor: replaces `to` / trained length, where the method allows it
        base: abf's new base
        beta_fast, beta_slow: yarn's turns, above which a pair is kept and below which it is divided
        attention_factor: yarn's and longrope's magnitude, in place of the computed one
        low_freq_factor, high_freq_factor: llama3's turns
        short_factor, long_factor: longrope's divisors, one a pair
        progress: told how far conversion, hashing and copying are
        cache: where converted models are kept; the platform's cache directory where not given

    Returns:
        what was done

    Raises:
        InputError: an unknown method, an option that the method does not have, a target that is not longer than the
            declared window, a model without rotary position, or one that already exists at `out`
        Unavailable: a named model's package is not installed

    Source: see `ordinate.scaling`, a method a file.
    """
    to, out = positive_integer("to", to), Path(out)
    options = {
        "factor": factor,
        "base": base,
        "beta_fast": beta_fast,
        "beta_slow": beta_slow,
        "attention_factor": attention_factor,
        "low_freq_factor": low_freq_factor,
        "high_freq_factor": high_freq_factor,
        "short_factor": short_factor,
        "long_factor": long_factor,
    }
    check_directory(out, new=True)
    # What cannot be stretched is found before anything is converted.
    spec = read(source)
    group = rotating_group(spec)
    trained = _trained_length(spec, to)
    why = "asked for"
    if method == "auto":
        method, why = choose(group, trained=trained, to=to)
    elif group.scaling not in (None, method) and method in methods():
        raise InputError(
            f"{spec.name} is stretched by {group.scaling} already: another method would "
            f"change what it knows, so method must be {group.scaling}, got {method}"
        )
    stretched = stretch(method, group.rope, trained=trained, to=to, options=options)
    conversion = convert(source, progress=progress, cache=cache)
    with new_directory(out) as partial:
        sha256 = copy_files(conversion, partial, progress)
        parameters = rope_parameters(group.rope, stretched.scaling)
        write_configuration(conversion.directory, partial, parameters, stretched, to, trained, group.rope.head_dim)
        _prove(partial, group, stretched, trained, to)
        extension = Extension(
            source=conversion.name,
            origin=conversion.origin,
            directory=str(out),
            method=method,
            why=why,
            factor=stretched.factor,
            trained=trained,
            declared=to,
            parameters=parameters,
            sha256=sha256,
            licence=conversion.licence,
            files=tuple(sorted([*(file.name for file in partial.iterdir()), "README.md"])),
        )
        write_card(partial / "README.md", extension)
    return extension


def rotating_group(spec: Spec) -> LayerGroup:
    """The group of layers that rotates; the first of several that rotate alike.

    Raises:
        InputError: none does, or several do, each in its own way
    """
    rotating = [group for group in spec.groups.values() if isinstance(group.encoding, Rotary)]
    if not rotating:
        schemes = ", ".join(sorted({group.scheme for group in spec.groups.values()}))
        raise InputError(f"{spec.name} has no rotary position, so that nothing can be stretched: it has {schemes}")
    if any((group.encoding, group.stretch) != (rotating[0].encoding, rotating[0].stretch) for group in rotating):
        names = ", ".join(group.layer_type for group in rotating)
        raise InputError(
            f"{spec.name} has groups of layers that rotate each in its own way, which is not supported: {names}"
        )
    return rotating[0]


def _trained_length(spec: Spec, to: int) -> int:
    trained, declared = spec.window.trained, spec.window.declared
    if trained is None or declared is None:
        raise InputError(
            f"{spec.name} does not say at which length it was trained, so nothing can be stretched from it"
        )
    if to > MAXIMUM_LENGTH:
        raise InputError(f"to must be at most {MAXIMUM_LENGTH}, the longest window that is read back, got {got(to)}")
    if to <= declared:
        raise InputError(f"to must be longer than the {declared} tokens that {spec.name} declares, got {to}")
    return trained


def _prove(directory: Path, group: LayerGroup, stretched: Stretched, trained: int, to: int) -> None:
    """Read the configuration back, and compare what it leads to with what was intended.

    Raises:
        InputError: this architecture takes the method for something else (Phi-3 takes yarn for longrope)
        RuntimeError: they differ, which is a fault in Ordinate
    """
    try:
        written = read(directory)
    except InputError as error:
        raise InputError(f"{stretched.scaling.name} cannot be written for this architecture: {error}") from None
    found = rotating_group(written)
    for length in (None, trained, trained + 1, to):
        intended = stretched.scaling.frequencies(group.rope, length)
        same = np.allclose(found.frequencies(length), intended, rtol=1e-12, atol=0)
        magnitude = stretched.scaling.attention_factor(length)
        if not same or not math.isclose(found.attention_factor(length), magnitude, rel_tol=1e-12):
            raise RuntimeError(
                f"the configuration for {stretched.scaling} reads back as {found.stretch} of {found.rope}"
            )
    if written.window.declared != to:
        raise RuntimeError(f"the configuration declares {written.window.declared} tokens, {to} were intended")
