"""What a translation or a comparison proves and loses, as tables."""

from collections.abc import Sequence
from typing import Any

from ordinate.describe.words import figures, number, ranges
from ordinate.dialects.base import Loss
from ordinate.report.markup import Markup, breakable, prose, table
from ordinate.report.numbers import count
from ordinate.results.diff import Change, Proof
from ordinate.translate.text import percent


def proofs(found: Sequence[Proof]) -> Markup:
    """How far two models are apart in what they compute, a row a group of layers."""
    header = ["Layers", "It is", "Frequencies within", "Widest pair, rad/token", "Magnitude", "Angle apart"]
    return table("How far apart, by group of layers", header, [[one.group, *cells(one)] for one in found])


def cells(proof: Proof) -> list[str]:
    """What is proved of a group, in five cells."""
    if proof.scheme is not None:
        return [f"{proof.scheme[0]} becomes {proof.scheme[1]}", "", "", "", ""]
    if proof.pairs == 0:
        return ["without rotation in both", "", "", "", ""]
    if proof.frequency_error is None:
        return [f"apart: pair {proof.pair} turns on one side only", "", "", "", ""]
    a, b = map(figures, proof.frequencies)
    wide = f"pair {proof.pair}: {a} → {b}" if proof.frequency_error else ""
    one, other = map(figures, proof.magnitudes)
    magnitude = f"{one} → {other}" if proof.magnitude_error else one
    angle = "" if proof.at is None else f"{figures(proof.angle_error)} rad at {count(proof.at)}"
    return ["the same" if proof.exact else "apart", percent(proof.frequency_error), wide, magnitude, angle]


def losses(found: Sequence[Loss]) -> Markup:
    """What an engine drops, replaces or cannot say, with where that can be seen."""
    rows = [
        [breakable(loss.setting), loss.group or "all", loss.what, breakable(loss.source)]
        for loss in dict.fromkeys(found)
    ]
    return prose(table("What is lost", ["Setting", "Layers", "What the engine does", "Source"], rows))


def changes(found: Sequence[Change], header: tuple[str, str]) -> Markup:
    """Field by field."""
    rows = [
        [
            breakable(one.path),
            value(one.a),
            value(one.b),
            "" if one.relative is None else percent(one.relative),
        ]
        for one in found
    ]
    return prose(table("Every field that differs", ["Field", *header, "Apart by"], rows))


def value(given: Any) -> str:
    """A setting in words.

    >>> value({"factor": 4.0, "truncate": True}), value([0, 1, 2]), value(8192)
    ('factor 4, truncate yes', '0-2', '8,192')
    """
    if given is None or isinstance(given, bool):
        return {None: "none", True: "yes", False: "no"}[given]
    if isinstance(given, dict):
        return ", ".join(f"{name} {value(one)}" for name, one in given.items() if one is not None)
    if isinstance(given, list):
        if given and all(isinstance(one, int) and not isinstance(one, bool) for one in given):
            return ranges(given)
        return f"{len(given)} numbers"
    return number(given) if isinstance(given, int | float) else str(given)
