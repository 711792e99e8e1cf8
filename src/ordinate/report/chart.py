"""Line charts in SVG, drawn here so that a page needs neither script nor network."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ordinate.errors import InputError
from ordinate.report.axes import MOST, drawable, ratios, short, ticks
from ordinate.report.drawing import drawing
from ordinate.report.markup import Markup, element

WIDTHS = {"wide": 720, "narrow": 360}
"""CSS pixels of the two sizes in which every chart is drawn."""

ROLES = ("extended", "original", "difference", "fourth", "fifth")
"""What lines can be, each with its colour, stroke and marker."""


@dataclass(frozen=True)
class Point:
    """A mean over x in [start, stop) (one place where the two are equal), and the half height of its band."""

    start: float
    stop: float
    y: float
    half: float = 0.0

    @property
    def x(self) -> float:
        """Where it is drawn."""
        return (self.start + self.stop) / 2


@dataclass(frozen=True)
class Line:
    """What one model did, or their difference; or one of several series.

    Args:
        role: one of `ROLES`, which gives it its colour, stroke and marker
        name: in the legend
        points: with bands; joined by a line unless they are ranges
        fine: narrow ranges, drawn as a thin line behind
    """

    role: str
    name: str
    points: Sequence[Point]
    fine: Sequence[Point] = ()


@dataclass(frozen=True)
class Mark:
    """A vertical line with a word."""

    x: float
    label: str


@dataclass(frozen=True)
class Chart:
    """A chart; `svg` draws it.

    Args:
        name: unique in the page
        title: what it shows
        summary: what is to be seen, in one sentence
        x_label, y_label: with units
        lines: at least one, with at least one point
        ticks: marks of the x axis, ascending
        marks: vertical lines
        logarithmic: whether equal ratios of x are equally far apart
        zero: whether a line is drawn at y = 0
        logarithmic_y: whether equal ratios of y are equally far apart; every y must be above 0
        levels: horizontal lines; `x` is where they stand on the y axis
    """

    name: str
    title: str
    summary: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    ticks: Sequence[float]
    marks: Sequence[Mark] = ()
    logarithmic: bool = False
    zero: bool = False
    logarithmic_y: bool = False
    levels: Sequence[Mark] = ()

    def height(self, form: str) -> int:
        """How high it is drawn in a size, [CSS pixel]."""
        return 360 if form == "wide" else 320

    def svg(self, width: int, height: int, form: str) -> Markup:
        """Draw it.

        Args:
            width, height: in CSS pixels, for which the size of the letters is right
            form: a word for this size, which makes ids unique and is the element's class
        """
        frame = _Frame(self, width, height)
        marked = [*_marks(self, frame), *_levels(self, frame)]
        parts = [
            *_axes(self, frame),
            *[stroke for stroke, _ in marked],
            *[_line(line, frame) for line in self.lines],
            # Last, so that no line goes through a word.
            *[word for _, word in marked],
        ]
        name = f"{self.name}-{form}"
        return drawing(name, self.title, parts, width=width, height=height, summary=self.summary, form=form)


class _Frame:
    """Where numbers lie on the paper."""

    left, right, top, bottom = 58.0, 24.0, 44.0, 52.0

    def __init__(self, chart: Chart, width: int, height: int) -> None:
        points = [point for line in chart.lines for point in (*line.points, *line.fine)]
        if not points or not all(drawable(v) for p in points for v in (p.start, p.stop, p.y, p.half)):
            raise InputError(f"chart {chart.name!r} needs points, all finite and none beyond ±{MOST:g}")
        self.width, self.height = width, height
        self.logarithmic = chart.logarithmic
        places = [*chart.ticks, *[p.start for p in points], *[p.stop for p in points]]
        self.low_x, self.high_x = self._scaled(min(places)), self._scaled(max(places))
        if chart.logarithmic:
            margin = 0.04 * (self.high_x - self.low_x) or 1.0
            self.low_x, self.high_x = self.low_x - margin, self.high_x + margin
        heights = [p.y + side * p.half for p in points for side in (-1, 1)] + ([0.0] if chart.zero else [])
        heights += [level.x for level in chart.levels]
        self.logarithmic_y = chart.logarithmic_y
        if chart.logarithmic_y:
            if min(heights) <= 0:
                raise InputError(f"chart {chart.name!r} has a logarithmic y axis: every y must be > 0")
            low, high = math.log10(min(heights)), math.log10(max(heights))
            margin = 0.05 * (high - low) or 0.5
            self.low_y, self.high_y = low - margin, high + margin
            self.y_ticks = ratios(10**self.low_y, 10**self.high_y)
            return
        self.y_ticks = ticks(min(heights), max(heights))
        step = self.y_ticks[1] - self.y_ticks[0]
        self.low_y = min(self.y_ticks[0], step * math.floor(min(heights) / step))
        self.high_y = max(self.y_ticks[-1], step * math.ceil(max(heights) / step))

    def _scaled(self, x: float) -> float:
        return math.log2(x) if self.logarithmic else x

    def x(self, value: float) -> float:
        share = (self._scaled(value) - self.low_x) / ((self.high_x - self.low_x) or 1.0)
        return round(self.left + share * (self.width - self.left - self.right), 1)

    def y(self, value: float) -> float:
        place = math.log10(value) if self.logarithmic_y else value
        share = (place - self.low_y) / ((self.high_y - self.low_y) or 1.0)
        return round(self.height - self.bottom - share * (self.height - self.top - self.bottom), 1)

    def holds(self, x: float) -> bool:
        return self.low_x <= self._scaled(x) <= self.high_x


def _axes(chart: Chart, frame: _Frame) -> list[Markup]:
    bottom, right = frame.height - frame.bottom, frame.width - frame.right
    found = []
    digits = max(0, -math.floor(math.log10(frame.y_ticks[1] - frame.y_ticks[0]) + 1e-9))

    def written(value: float) -> str:
        return short(value) if chart.logarithmic_y else f"{value:,.{digits}f}".replace("-", "−")

    for value in frame.y_ticks:
        y = frame.y(value)
        kind = "zero" if chart.zero and value == 0 else "grid"
        found.append(element("line", class_=kind, x1=frame.left, x2=float(right), y1=y, y2=y))
        found.append(element("text", written(value), class_="tick", x=frame.left - 7, y=y + 4, text_anchor="end"))
    # A label takes about 7 pixels a character; those that would touch the one before are left out.
    free = -math.inf
    for value in chart.ticks:
        x, text = frame.x(value), f"{value:,.0f}"
        found.append(element("line", class_="axis", x1=x, x2=x, y1=float(bottom), y2=float(bottom + 4)))
        half = 3.6 * len(text)
        if x - half >= free:
            found.append(element("text", text, class_="tick", x=x, y=float(bottom + 18), text_anchor="middle"))
            free = x + half + 6
    found.append(element("line", class_="axis", x1=frame.left, x2=float(right), y1=float(bottom), y2=float(bottom)))
    middle_x, middle_y = (frame.left + right) / 2, (frame.top + bottom) / 2
    found.append(
        element("text", chart.x_label, class_="label", x=middle_x, y=float(frame.height - 10), text_anchor="middle")
    )
    turn = f"translate(14 {middle_y:g}) rotate(-90)"
    found.append(element("text", chart.y_label, class_="label", transform=turn, text_anchor="middle"))
    return found


def _marks(chart: Chart, frame: _Frame) -> Iterator[tuple[Markup, Markup]]:
    """Vertical lines, each with its word."""
    for row, mark in enumerate(chart.marks):
        if not frame.holds(mark.x):
            continue
        # The words stay on the paper, and in two rows, so that those of close lines do not meet.
        x, top, foot = frame.x(mark.x), 12.0 + 14.0 * (row % 2), float(frame.height - frame.bottom)
        anchor, shift = ("start", 5) if x < frame.width / 2 else ("end", -5)
        yield (
            element("line", class_="mark", x1=x, x2=x, y1=top, y2=foot),
            element("text", mark.label, class_="tick halo", x=x + shift, y=top - 1, text_anchor=anchor),
        )


def _levels(chart: Chart, frame: _Frame) -> Iterator[tuple[Markup, Markup]]:
    """Horizontal lines, each with its word."""
    right, free = float(frame.width - frame.right), -math.inf
    for level in sorted(chart.levels, key=lambda one: frame.y(one.x)):
        y = frame.y(level.x)
        # A word that would meet the one above stands under its line.
        place = y - 5 if y - 5 - 12 >= free else y + 14
        yield (
            element("line", class_="mark", x1=frame.left, x2=right, y1=y, y2=y),
            element("text", level.label, class_="tick halo", x=right, y=place, text_anchor="end"),
        )
        free = place + 2


def _line(line: Line, frame: _Frame) -> Markup:
    found = []
    ranges = any(point.stop > point.start for point in line.points)
    if line.fine:
        found.append(element("polyline", class_="fine", points=_path(line.fine, frame)))
    if ranges:
        for point in line.points:
            left, right = frame.x(point.start), frame.x(point.stop)
            top, bottom = frame.y(point.y + point.half), frame.y(point.y - point.half)
            found.append(
                element("rect", class_="band", x=left, y=top, width=right - left, height=round(bottom - top, 1))
            )
            y = frame.y(point.y)
            found.append(element("line", class_="mean", x1=left, x2=right, y1=y, y2=y))
    else:
        for point in line.points:
            x = frame.x(point.x) + _ASIDE.get(line.role, 0)
            top, bottom = frame.y(point.y + point.half), frame.y(point.y - point.half)
            found.append(element("line", class_="error", x1=x, x2=x, y1=top, y2=bottom))
        found.append(element("polyline", class_="joined", points=_path(line.points, frame)))
    found += [marker(line.role, frame.x(point.x), frame.y(point.y)) for point in line.points]
    return element("g", *found, class_=line.role)


def _path(points: Sequence[Point], frame: _Frame) -> str:
    return " ".join(f"{frame.x(point.x):g},{frame.y(point.y):g}" for point in points)


# Bars of two lines at the same place stand beside each other, [CSS pixel].
_ASIDE = {"original": -2.5, "extended": 2.5}


def marker(role: str, x: float, y: float) -> Markup:
    """A square for the original, a disc for the extended model, a diamond for their difference, else triangles."""
    if role == "original":
        return element("rect", class_="marker", x=x - 3.5, y=y - 3.5, width=7, height=7)
    if role == "extended":
        return element("circle", class_="marker", cx=x, cy=y, r=4)
    if role in ("fourth", "fifth"):
        tip = -5 if role == "fourth" else 5
        corners = f"{x:g},{y + tip:g} {x + 5:g},{y - 0.8 * tip:g} {x - 5:g},{y - 0.8 * tip:g}"
    else:
        corners = f"{x:g},{y - 5:g} {x + 5:g},{y:g} {x:g},{y + 5:g} {x - 5:g},{y:g}"
    return element("polygon", class_="marker", points=corners)
