"""The page of a description: windows, and for each group of layers how far its pairs or heads get."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ordinate.describe.words import counted, figures, number, ranges
from ordinate.errors import InputError
from ordinate.report.chart import Chart, Line, Mark, Point
from ordinate.report.figure import figure
from ordinate.report.markup import Markup, breakable, element, facts, listing, prose, table
from ordinate.report.numbers import count
from ordinate.report.page import Page, Section
from ordinate.report.pages._proofs import value
from ordinate.results.describe import Describe, Group, Window


def page(result: Mapping[str, Any]) -> Page:
    """What goes on the page of a description.

    Args:
        result: as `ordinate.results.read` gives it
    """
    found = msgspec.convert(result, Describe)
    sections = [_model(found)]
    sections += [_group(f"group-{i}", name, group, found) for i, (name, group) in enumerate(found.groups.items(), 1)]
    if found.warnings:
        sections.append(Section("warnings", "What to beware of", [listing(found.warnings)]))
    if found.sources:
        named = [[breakable(name), place] for name, place in found.sources.items()]
        sources = prose(table("Each value and its place", ["Value", "Read from"], named))
        body = [element("details", element("summary", "The places as a table"), sources)]
        sections.append(Section("sources", "Where each value was read", body))
    lead = f"Architecture {found.architecture}, read from a {found.container} file: {window(found.window)}."
    schemes = ", ".join(dict.fromkeys(_scheme(group) for group in found.groups.values()))
    return Page(f"Position in {found.name}", [lead], sections, summary=f"{schemes}; {window(found.window)}.")


def window(found: Window) -> str:
    """The two lengths in words."""
    trained, declared = found.trained, found.declared
    if trained is None and declared is None:
        return "the window is not in the file"
    if trained == declared or trained is None:
        return f"a window of {counted(declared or 0, 'token')}" + ("" if trained else " is declared")
    if declared is None:
        return f"trained at {counted(trained, 'token')}; how many it serves is not in the file"
    return f"trained at {counted(trained, 'token')}, {count(declared)} declared"


def _scheme(group: Group) -> str:
    return f"{group.scheme}, {group.scaling}" if group.scaling else group.scheme


def _model(found: Describe) -> Section:
    rows = [
        ("Window trained at", _tokens(found.window.trained, "not stated")),
        ("Window declared", _tokens(found.window.declared, "not stated")),
        ("Layers", None if found.layers is None else count(found.layers)),
        ("Frequencies at", "construction" if found.length is None else f"{count(found.length)} tokens seen"),
        ("Fingerprint", found.fingerprint),
    ]
    return Section("model", "The model", [facts("What its files state", rows)])


def _tokens(length: int | None, otherwise: str | None = None) -> str | None:
    return otherwise if length is None else counted(length, "token")


def _group(name: str, title: str, group: Group, found: Describe) -> Section:
    body: list[Markup] = [facts("Settings", _settings(group))]
    if group.wavelengths and any(length is not None for length in group.wavelengths):
        body += _pairs(name, group, found.window)
    if group.slopes:
        body.append(_heads(name, group.slopes))
    return Section(name, f"Layers: {title}" if len(found.groups) > 1 else "The layers", body)


def _settings(group: Group) -> Iterator[tuple[str, str | None]]:
    yield "Scheme", f"{group.scheme} ({group.kind}){_listed(group.scheme_parameters)}"
    yield "Scaling", "none" if group.scaling is None else f"{group.scaling}{_listed(group.scaling_parameters or {})}"
    yield "Pairing", group.pairing
    yield "Magnitude", None if group.attention_factor == 1 else f"{number(group.attention_factor)}, times cos and sin"
    yield "Layers", None if group.layers is None else f"{ranges(group.layers) or 'none'} ({len(group.layers)})"
    heads = group.heads
    if heads is not None:
        values = "" if heads.value_dim == heads.head_dim else f", values of {heads.value_dim}"
        latent = "" if heads.latent_dim is None else f", a latent of {heads.latent_dim}"
        shape = f"{heads.query} query and {counted(heads.key_value, 'key-value head')} of "
        shape += counted(heads.head_dim, "channel")
        yield "Heads", f"{heads.kind}: {shape}{values}{latent}"
    yield "Sliding window", _tokens(group.sliding_window)
    yield "Softmax scale", None if group.softmax_scale is None else number(group.softmax_scale)
    yield "Temperature", None if group.temperature is None else _listed(group.temperature).removeprefix(", ")


def _listed(settings: Mapping[str, Any]) -> str:
    return "".join(f", {name} {value(one)}" for name, one in settings.items() if one is not None)


def _pairs(name: str, group: Group, window: Window) -> list[Markup]:
    """How long each pair takes for a turn, against the windows."""
    turns, columns = group.turns_in_trained_window, (group.frequencies, group.wavelengths)
    if len({len(one or ()) for one in (*columns, *([] if turns is None else [turns]))}) > 1:
        raise InputError(f"{name}: frequencies, wavelengths and turns must be as many as pairs, each")
    lengths = [(pair, length) for pair, length in enumerate(group.wavelengths or ()) if length is not None]
    marks = {"trained": window.trained, "declared": window.declared if window.declared != window.trained else None}
    levels = [Mark(length, f"{word}: {count(length)}") for word, length in marks.items() if length is not None]
    last, longest = max(lengths, key=lambda one: one[1])
    said = f"Pair {lengths[0][0]} turns once in {number(lengths[0][1])} tokens, pair {last} in {number(longest)}."
    for word, length in marks.items():
        if length is not None:
            slow = sum(one > length for _, one in lengths)
            said += f" {slow} of {len(lengths)} never finish a turn in the {word} {counted(length, 'token')}."
    pairs = len(group.wavelengths or ())
    chart = Chart(
        f"wavelengths-{name}",
        "Wavelength of each pair.",
        said,
        "pair",
        "tokens for one turn",
        [Line("extended", "wavelength", [Point(pair, pair, length) for pair, length in lengths])],
        list(range(0, pairs, max(1, math.ceil(pairs / 8)))),
        levels=levels,
        logarithmic_y=True,
    )
    rows = [
        [
            str(pair),
            figures(frequency),
            "does not turn" if (length := (group.wavelengths or [])[pair]) is None else number(length),
            *([] if turns is None else [number(turns[pair])]),
        ]
        for pair, frequency in enumerate(group.frequencies or ())
    ]
    header = ["Pair", "Frequency, rad/token", "Wavelength, tokens", *([] if turns is None else ["Turns when trained"])]
    return [figure(chart, table("Every pair", header, rows))]


def _heads(name: str, slopes: list[float]) -> Markup:
    """How steeply each head's penalty falls with distance."""
    chart = Chart(
        f"slopes-{name}",
        "Slope of each head.",
        f"The steepest head loses one logit in {number(1 / max(slopes))} tokens, the flattest in "
        f"{number(1 / min(slopes))}."
        if min(slopes) > 0
        else f"The steepest slope is {number(max(slopes))} logit/token.",
        "head",
        "slope, logit/token",
        [Line("extended", "slope", [Point(head, head, slope) for head, slope in enumerate(slopes)])],
        list(range(0, len(slopes), max(1, math.ceil(len(slopes) / 8)))),
        logarithmic_y=min(slopes) > 0,
        zero=min(slopes) <= 0,
    )
    rows = [[str(head), figures(slope), number(1 / slope) if slope else "none"] for head, slope in enumerate(slopes)]
    return figure(chart, table("Every head", ["Head", "Slope, logit/token", "Tokens for one logit"], rows))
