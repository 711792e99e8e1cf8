"""A spec as text for a terminal."""

import textwrap
from collections.abc import Iterator

import numpy as np

from ordinate.describe.wavelengths import reaches, unfinished, wavelengths
from ordinate.describe.words import counted, listed, number, printable, ranges
from ordinate.fingerprint import fingerprint
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec

WIDTH = 96
LABEL = 16


def to_text(spec: Spec, length: int | None = None, *, sources: bool = False) -> str:
    """A spec in lines of at most 96 columns: the window, a block a layer group, and what to beware of.

    Args:
        spec: what to describe
        length: tokens seen so far, for frequencies that depend on it; None as at construction, [token]
        sources: say for each value where it was read

    Returns:
        Plain text without an end of line; control characters in names from files are escaped
    """
    lines = [f"{printable(spec.name)}: {printable(spec.architecture)}, read from a {spec.container} file", ""]
    lines += _line("window", _window(spec))
    if spec.layers is not None:
        lines += _line("layers", number(spec.layers))
    if length is not None:
        lines += _line("at length", f"{counted(length, 'token')} seen")
    lines += _line("fingerprint", fingerprint(spec)[:16])
    for name, group in spec.groups.items():
        lines += ["", printable(name)]
        for label, text in _group(group, spec, length):
            lines += _line(label, text, indent=2)
    if spec.warnings:
        lines += ["", "beware"]
        for warning in spec.warnings:
            lines += textwrap.wrap(printable(warning), WIDTH, initial_indent="  - ", subsequent_indent="    ")
    if sources:
        lines += ["", "sources"]
        for value, source in spec.sources.items():
            lines += _line(printable(value), printable(source), indent=2, label_width=34)
    return "\n".join(lines)


def _window(spec: Spec) -> str:
    trained, declared = spec.window.trained, spec.window.declared
    if trained is None and declared is None:
        return "not in the file"
    if trained == declared:
        return f"{counted(declared or 0, 'token')}"
    if trained is None:
        return f"{counted(declared or 0, 'token')} declared; how many of them were trained is not in the file"
    if declared is None:
        return f"{counted(trained, 'token')} trained before stretching; how many it serves is not in the file"
    return f"{counted(declared, 'token')} declared, {number(trained)} trained before stretching"


def _group(group: LayerGroup, spec: Spec, length: int | None) -> Iterator[tuple[str, str]]:
    if group.layers is not None:
        yield "layers", f"{ranges(group.layers)} ({len(group.layers)})" if group.layers else "none"
    if group.heads is not None:
        yield "heads", _heads(group)
    if isinstance(group.encoding, Rotary):
        yield from _rotation(group, group.encoding, spec, length)
    else:
        yield "scheme", f"{group.scheme}{listed(group.encoding)}"
    if group.slopes is not None:
        yield "slopes", f"{number(float(group.slopes.max()))} to {number(float(group.slopes.min()))} logit/token"
        reach = reaches(group.slopes)
        yield "reach", f"a head loses 1 logit in {number(float(reach.min()))} to {number(float(reach.max()))} tokens"
    if group.sliding_window is not None:
        chunk = group.layer_type.startswith("chunked")
        yield "sees", f"{'its chunk of' if chunk else 'the last'} {counted(group.sliding_window, 'token')}"
    if group.softmax_scale is not None:
        yield "softmax scale", number(group.softmax_scale)
    if group.temperature is not None:
        yield "temperature", f"{group.temperature.form}{listed(group.temperature, without=('form',))}"


def _rotation(group: LayerGroup, rope: Rotary, spec: Spec, length: int | None) -> Iterator[tuple[str, str]]:
    part, whole = getattr(rope, "part", "first"), rope.rotary_dim == rope.head_dim
    turning = (
        "all"
        if whole
        else f"{rope.rotary_dim} (proportional) of"
        if part == "proportional"
        else (f"the {part} {rope.rotary_dim} of")
    )
    extra = listed(rope, without=("head_dim", "rotary_dim", "base", "pairing", "part", "direction"), defaults=False)
    yield "scheme", f"{rope.name}, base {number(rope.base)}, {turning} {rope.head_dim} channels turn{extra}"
    yield (
        "pairing",
        {
            "half": "half: channel i with i + pairs",
            "interleaved": "interleaved: channel 2i with 2i + 1",
            "interleaved-in-half-out": "interleaved as it comes in, half as it goes out",
            "unknown": "unknown",
        }.get(str(group.pairing), str(group.pairing)),
    )
    if getattr(rope, "direction", 1) == -1:
        yield "direction", "opposite"
    yield "scaling", "none" if group.stretch is None else f"{group.scaling}{listed(group.stretch)}"
    factor = group.attention_factor(length)
    if factor != 1:
        yield "magnitude", f"{number(factor)}, multiplies cos and sin"
    finite = np.sort(wavelengths(group, length))
    finite = finite[np.isfinite(finite)]
    if len(finite):
        still = len(group.frequencies(length)) - len(finite)
        rest = f"; {still} pairs do not turn" if still else ""
        yield "wavelengths", f"{number(finite[0])} to {number(finite[-1])} tokens, {counted(len(finite), 'pair')}{rest}"
    label = "slow pairs"
    for word, window in (("trained", spec.window.trained), ("declared", spec.window.declared)):
        if window is not None and (word == "trained" or window != spec.window.trained):
            slow = unfinished(group, window, length)
            yield label, f"{slow} of {len(finite)} never finish a turn in the {word} {counted(window, 'token')}"
            label = ""


def _heads(group: LayerGroup) -> str:
    heads = group.heads
    if heads is None:
        return ""
    text = f"{heads.kind}, {heads.query} query and {heads.key_value} key-value heads of {heads.head_dim} channels"
    if heads.value_dim != heads.head_dim:
        text += f" (values {heads.value_dim})"
    if heads.latent_dim is not None:
        text += f", a latent of {heads.latent_dim}"
    return text


def _line(label: str, text: str, *, indent: int = 0, label_width: int = LABEL) -> list[str]:
    start = " " * indent + f"{label:<{label_width - indent}} "
    return textwrap.wrap(text, WIDTH, initial_indent=start, subsequent_indent=" " * len(start)) or [start.rstrip()]
