"""Small charts of scores by length, one a task, beside each other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ordinate.report.axes import ticks
from ordinate.report.chart import ROLES, marker
from ordinate.report.drawing import drawing
from ordinate.report.figure import sample
from ordinate.report.markup import Markup, element
from ordinate.validate.claims import Row
from ordinate.validate.statistics.retention import RETAINED
from ordinate.validate.uses.means import REAL
from ordinate.validate.written import plain

WIDTH, HEIGHT = 240, 168
LEFT, RIGHT, TOP, BOTTOM = 36.0, 10.0, 26.0, 30.0


@dataclass(frozen=True)
class Curve:
    """One task.

    Args:
        title: over the chart
        measure: "answer": shares; else nats
        rows: cells of all lengths and places
        chance: of a share; None where there is none
    """

    title: str
    measure: str
    rows: tuple[Row, ...]
    chance: float | None = None


def curves(drawn: Sequence[Curve]) -> Markup:
    """All charts, with a legend each."""
    return element("div", *[_chart(curve, number) for number, curve in enumerate(drawn)], class_="curves")


def _chart(curve: Curve, number: int) -> Markup:
    places = list(dict.fromkeys(row.places for row in curve.rows))
    lines = {place: sorted((r for r in curve.rows if r.places == place), key=lambda r: r.length) for place in places}
    frame = _Frame(curve)
    longest = max(row.length for row in curve.rows)
    last = [row for row in curve.rows if row.length == longest]
    worst = min(last, key=lambda row: row.value).places
    if curve.measure == "language":  # whose places are contexts: the text's own is what the claim is about
        worst = REAL if REAL in places else places[0]
    parts = [*_axes(frame), _band(lines[worst], frame)]
    if curve.measure == "answer":
        parts.append(_asked(lines[worst], curve.chance or 0.0, frame))
    looks = _looks(places, worst)
    # The worst last, over all others.
    parts += [_line(lines[place], looks[place], frame) for place in sorted(places, key=lambda place: place == worst)]
    unit = "share right" if curve.measure == "answer" else "nat"
    summary = f"{curve.title}: {unit} by length in tokens; the band is that of {plain(worst)}"
    parts.insert(0, element("text", unit, class_="tick", x=2, y=14))
    svg = drawing(f"curve-{number}", summary, parts, width=WIDTH, height=HEIGHT)
    marked = " (worst)" if len(places) > 1 and curve.measure != "language" else ""
    keys = [
        element("li", sample(*looks[place]), " ", plain(place) + (marked if place == worst else "")) for place in places
    ]
    return element(
        "figure", element("figcaption", element("strong", curve.title)), svg, element("ul", *keys, class_="legend")
    )


def _looks(places: Sequence[str], worst: str) -> dict[str, tuple[str, str]]:
    """Of each place's line its role, for colour and stroke, and the role whose marker it has; the first role's is the
    worst. Where there are more places than roles, the pairs differ."""
    turn = len(ROLES) - 1
    others = [place for place in places if place != worst]
    found = {place: (ROLES[1 + i % turn], ROLES[1 + (i + i // turn) % turn]) for i, place in enumerate(others)}
    return found | {worst: (ROLES[0], ROLES[0])}


def _line(rows: Sequence[Row], look: tuple[str, str], frame: "_Frame") -> Markup:
    points = [(frame.x(row.length), frame.y(row.value)) for row in rows]
    path = element("polyline", class_="joined", points=" ".join(f"{x:g},{y:g}" for x, y in points))
    role, sign = look
    return element("g", path, *[marker(sign, x, y) for x, y in points], class_=role)


class _Frame:
    """Where numbers lie on the paper."""

    def __init__(self, curve: Curve) -> None:
        self.lengths = sorted({row.length for row in curve.rows})
        self.low_x, self.high_x = math.log2(self.lengths[0]), math.log2(self.lengths[-1])
        if curve.measure == "answer":
            self.marks = [0.0, 0.25, 0.5, 0.75, 1.0]
        else:
            self.marks = ticks(min(row.low for row in curve.rows), max(row.high for row in curve.rows), 5)
        self.low_y, self.high_y = self.marks[0], self.marks[-1]

    def x(self, length: int) -> float:
        share = (math.log2(length) - self.low_x) / ((self.high_x - self.low_x) or 1.0)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        share = (min(max(value, self.low_y), self.high_y) - self.low_y) / ((self.high_y - self.low_y) or 1.0)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def _axes(frame: _Frame) -> list[Markup]:
    found = []
    for mark in frame.marks:
        y = frame.y(mark)
        found.append(element("line", class_="grid", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y))
        found.append(
            element("text", f"{mark:g}".replace("-", "−"), class_="tick", x=LEFT - 5, y=y + 4, text_anchor="end")
        )
    free = -math.inf
    for length in frame.lengths:
        x, text = frame.x(length), _short(length)
        half = 3.8 * len(text)
        at = min(max(x, LEFT), WIDTH - half)
        if at - half >= free:
            found.append(element("text", text, class_="tick", x=at, y=HEIGHT - BOTTOM + 17, text_anchor="middle"))
            free = at + half + 4
    return found


def _band(rows: Sequence[Row], frame: _Frame) -> Markup:
    up = [f"{frame.x(row.length):g},{frame.y(row.high):g}" for row in rows]
    down = [f"{frame.x(row.length):g},{frame.y(row.low):g}" for row in reversed(rows)]
    return element("polygon", class_="between", points=" ".join(up + down))


def _asked(rows: Sequence[Row], chance: float, frame: _Frame) -> Markup:
    y = frame.y(RETAINED * rows[0].value + (1 - RETAINED) * chance)
    return element("line", class_="mark", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y)


def _short(length: int) -> str:
    """131072 as '128k'; what is no multiple of 1024 as it is."""
    return f"{length // 1024}k" if length >= 1024 and length % 1024 == 0 else str(length)
