"""What two models differ in, as text for a terminal."""

import dataclasses
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from ordinate.describe.words import listed, number, printable, ranges
from ordinate.fingerprint import ABSENT, Difference
from ordinate.spec import LayerGroup, Spec
from ordinate.translate.proof import GroupProof
from ordinate.translate.text import WIDTH, percent, proof_lines


def difference_to_text(
    a: Spec,
    b: Spec,
    found: Sequence[Difference],
    proofs: Sequence[GroupProof],
    *,
    names: tuple[str, str] | None = None,
) -> str:
    """The fields in which two models differ, then how far they are apart in what they compute.

    Args:
        a: the one
        b: the other
        found: as `ordinate.fingerprint.differences` gives them
        proofs: as `ordinate.translate.prove` gives them
        names: what to call them, such as their paths; by default as their files do
    """
    called = names or (a.name, b.name)
    lines = [f"a: {printable(called[0])}", f"b: {printable(called[1])}", ""]
    if not found:
        return "\n".join([*lines, "the same in every number that has to do with position"])
    lines += change_lines(found)
    lines += ["", *proof_lines(proofs)]
    mixed = [entry for entry in found if entry.path.endswith(".pairing") and "unknown" not in (entry.a, entry.b)]
    if mixed:
        note = (
            f"q and k channels are paired differently ({mixed[0].a} and {mixed[0].b}): weights of one are not weights "
            "of the other, even where frequencies agree"
        )
        lines += ["", *textwrap.wrap(note, WIDTH)]
    return "\n".join(lines)


def change_lines(found: Sequence[Difference]) -> Iterator[str]:
    """A line for each field, a -> b, as `ordinate describe` prints values; shares are relative to a."""
    for entry in found:
        share = relative_to_a(entry)
        far = "" if share is None else f" ({percent(share)})"
        text = f"{printable(entry.path)}: {_value(entry.a)} -> {_value(entry.b)}{far}"
        yield from textwrap.wrap(text, WIDTH, subsequent_indent="    ")


def relative_to_a(entry: Difference) -> float | None:
    """|b - a| / |a| of a frequency or magnitude, as a proof has it; None of other fields, and where a is 0."""
    return None if entry.relative is None or not entry.a else abs(entry.b - entry.a) / abs(entry.a)


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, LayerGroup):
        layers = "" if value.layers is None else f", layers {ranges(value.layers) or 'none'}"
        return f"{value.scheme}{layers}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return printable(f"{getattr(value, 'name', type(value).__name__.lower())}{listed(value)}")
    if isinstance(value, (tuple, list)):
        return ranges(value) if all(isinstance(entry, int) for entry in value) else f"{len(value)} numbers"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return "absent" if value == ABSENT else printable(str(value))
