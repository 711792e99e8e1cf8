"""A spec as a picture: how far each pair gets, against the window."""

import numpy as np

from ordinate.describe.chart import Chart, Line, Series
from ordinate.describe.wavelengths import reaches, unfinished, wavelengths
from ordinate.describe.words import counted, number, printable
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec


def to_svg(spec: Spec, length: int | None = None) -> str:
    """A picture of a spec: the wavelength of each pair against the trained and the declared window.

    Filled points finish a turn in the trained window, hollow ones never do. A spec without rotation shows, where it
    has slopes, the distance at which each head loses one logit; else it says in words what there is.

    Args:
        spec: what to draw
        length: tokens seen so far, for frequencies that depend on it; None as at construction, [token]

    Returns:
        A self-contained SVG document without scripts or links
    """
    name = printable(spec.name)
    about = f"{printable(spec.architecture)}, {spec.container}"
    if length is not None:
        about += f", at {counted(length, 'token')}"
    rotating = {key: group for key, group in spec.groups.items() if isinstance(group.encoding, Rotary)}
    if rotating:
        return Chart(
            title=f"{name}: wavelength of each pair",
            subtitle=about,
            across="pair, in the order of the head",
            up="wavelength [token], log scale",
            series=tuple(_turning(key, group, spec, length) for key, group in rotating.items()),
            lines=_windows(spec),
            beyond="hollow, longer than the trained window: no full turn seen in training"
            if spec.window.trained is not None
            else "",
        ).svg()
    sloped = {key: group.slopes for key, group in spec.groups.items() if group.slopes is not None}
    if sloped:
        return Chart(
            title=f"{name}: reach of each head",
            subtitle=f"{about}; a key this far away loses one logit",
            across="head",
            up="distance [token], log scale",
            series=tuple(Series(printable(key), reaches(slopes)) for key, slopes in sloped.items()),
            lines=_windows(spec),
        ).svg()
    schemes = ", ".join(dict.fromkeys(group.scheme for group in spec.groups.values()))
    return Chart(
        title=f"{name}: position", subtitle=f"{about}; nothing rotates, no head has a slope. Scheme: {schemes}"
    ).svg()


def _turning(name: str, group: LayerGroup, spec: Spec, length: int | None) -> Series:
    """The wavelengths of a group, those before scaling behind them, and how many are longer than the window."""
    found, trained = wavelengths(group, length), spec.window.trained
    before = None
    if group.stretch is not None:
        plain = LayerGroup(group.layer_type, group.encoding)
        before = wavelengths(plain)
        before = None if np.array_equal(before, found) else before
    turning = int(np.isfinite(found).sum())
    remark = counted(turning, "pair")
    if trained is not None:
        slow = unfinished(group, trained, length)
        remark = f"{slow} of {counted(turning, 'pair')} never finish a turn in {counted(trained, 'token')}"
    if turning < len(found):
        remark += f", {len(found) - turning} do not turn"
    return Series(printable(name), found, before, None if trained is None else found > trained, remark)


def _windows(spec: Spec) -> tuple[Line, ...]:
    trained, declared = spec.window.trained, spec.window.declared
    if trained is not None and trained == declared:
        return (Line(trained, f"window {number(trained)}"),)
    lines = [] if trained is None else [Line(trained, f"trained {number(trained)}")]
    if declared is not None:
        lines.append(Line(declared, f"declared {number(declared)}", dashed=True))
    return tuple(lines)
