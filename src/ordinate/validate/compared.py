"""Two runs compared, as text for a terminal."""

import textwrap

from ordinate.validate.regression import ACCURACY, NLL, Difference, needed
from ordinate.validate.written import SIGNS, WIDTH, columns, plain, value

SHOWN = 10
"""Flips that the text lists; the JSON has all."""


def to_text(found: Difference) -> str:
    """What was kept at short context, what changed, and what the lengths gained."""
    planned = needed()
    lines = [
        f"short context kept? margins {ACCURACY:.0%} of accuracy, {NLL:.1%} of the loss; before a run: about "
        f"{planned['accuracy']:,} units, {planned['nll']:,} targets",
        "",
    ]
    for claim in found.claims:
        name = f"R {claim.subject} at {claim.length:,} tokens: {claim.verdict}; {claim.why}"
        lines += textwrap.wrap(plain(name), WIDTH, subsequent_indent="    ")
    lines += ["", f"{len(found.flips)} answers changed at the short length"]
    for flip in found.flips[:SHOWN]:
        said = f"{flip.before!r} before, {flip.after!r} after"
        lines.append(plain(f"  {flip.subject} {flip.unit} at {flip.places}: now {flip.became}; {said}"))
    if len(found.flips) > SHOWN:
        lines.append(f"  and {len(found.flips) - SHOWN} more (--format json has all)")
    lengths = sorted({row[0] for one in found.extension for row in one.verdicts})
    rows = []
    for one in found.extension:
        known = {length: (before, after) for length, before, after in one.verdicts}
        signs = []
        for length in lengths:
            pair = known.get(length, (None, None))
            signs.append(" ".join("." if verdict is None else SIGNS[verdict] for verdict in pair))
        reached = " -> ".join("none" if length is None else f"{length:,}" for length in one.effective)
        rows.append([f"{one.subject}: {one.ability}", *signs, reached])
    lines += ["", "what the lengths gained (before, after)", ""]
    lines += columns(["task", *(f"{length:,}" for length in lengths), "effective length"], rows)
    lines.append("  + supported  x refuted  ? inconclusive  - not applicable  . not tested")
    scored = [
        [
            one.subject,
            f"{length:,}",
            place,
            *("not tested" if row is None else f"{value(row)} of {row.units}" for row in pair),
        ]
        for one in found.extension
        for length, place, *pair in one.scores()
    ]
    if scored:
        lines += ["", "scores, with 95% intervals", ""]
        lines += columns(["task", "length", "place", "before", "after"], scored)
    for fact in found.apart:
        lines += textwrap.wrap(plain(f"note: {fact}"), WIDTH, subsequent_indent="  ")
    return "\n".join(line.rstrip() for line in lines)
