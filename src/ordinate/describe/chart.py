"""Points on a logarithmic axis, as an SVG document of its own."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape

import numpy as np

WIDTH, PLOT_HEIGHT = 880, 360
LEFT, RIGHT, TOP, FOOT, LEGEND_LINE = 80, 28, 76, 58, 22
MOST_TICKS = 17
# Okabe and Ito's colours, told apart with any colour vision; shapes tell the series apart without colour.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
SHAPES = ("circle", "square", "triangle", "diamond")
Place = Callable[[float], float]
INK, FAINT, SHADE = "#222222", "#666666", "#f3f0e6"


@dataclass(frozen=True, eq=False)
class Series:
    """Points at 0, 1, 2, ... across.

    Args:
        name: for the legend
        values: how far up; what is not finite is not drawn
        before: what a thin line shows behind them, or None
        hollow: which points are hollow, or None for none
        remark: what the legend adds
    """

    name: str
    values: np.ndarray
    before: np.ndarray | None = None
    hollow: np.ndarray | None = None
    remark: str = ""


@dataclass(frozen=True)
class Line:
    """A line across the whole chart, with its label above it where dashed and else below."""

    value: float
    label: str
    dashed: bool = False


@dataclass(frozen=True)
class Chart:
    """A title, axes, lines and series; `beyond` says what the shade above the first line means.

    Without series only the title and subtitle are drawn.
    """

    title: str
    subtitle: str
    across: str = ""
    up: str = ""
    series: tuple[Series, ...] = ()
    lines: tuple[Line, ...] = ()
    beyond: str = ""

    def svg(self) -> str:
        """The document, the same bytes for the same chart."""
        legend = LEGEND_LINE * (len(self.series) + any(s.before is not None for s in self.series) + bool(self.beyond))
        height = TOP + PLOT_HEIGHT + FOOT + legend + 8 if self.series else TOP + 10
        said = "; ".join(f"{s.name}: {s.remark or f'{len(s.values)} points'}" for s in self.series)
        marks = "; ".join(line.label for line in self.lines)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="title description" '
            f'font-family="Helvetica, Arial, sans-serif" font-size="13" fill="{INK}">',
            f'<title id="title">{escape(self.title)}</title>',
            f'<desc id="description">{escape(". ".join(filter(None, [self.subtitle, said, marks])))}</desc>',
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
            _text(LEFT, 32, self.title, size=18, weight="bold"),
            _text(LEFT, 54, self.subtitle, fill=FAINT),
        ]
        if self.series:
            parts += [*self._plot(), *self._legend()]
        return "\n".join([*parts, "</svg>"])

    def _plot(self) -> Iterator[str]:
        drawn = np.concatenate([v for s in self.series for v in (s.values, s.before) if v is not None])
        drawn = np.concatenate([drawn[np.isfinite(drawn) & (drawn > 0)], [line.value for line in self.lines]])
        low = math.floor(math.log10(drawn.min())) if len(drawn) else 0
        high = max(math.ceil(math.log10(drawn.max()) + 0.05), low + 1) if len(drawn) else 1
        count = max(len(s.values) for s in self.series)

        def x(index: float) -> float:
            return LEFT + (index + 0.5) / count * (WIDTH - LEFT - RIGHT)

        def y(value: float) -> float:
            return TOP + (high - math.log10(value)) / (high - low) * PLOT_HEIGHT

        if self.beyond and self.lines:
            yield _box(LEFT, TOP, WIDTH - LEFT - RIGHT, y(self.lines[0].value) - TOP)
        yield from self._axes(low, high, count, x, y)
        for line in self.lines:
            at, dash = y(line.value), ' stroke-dasharray="7 4"' if line.dashed else ""
            yield (
                f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_n(at)}" y2="{_n(at)}" stroke="{INK}" '
                f'stroke-width="1.5"{dash}/>'
            )
            yield _text(LEFT + 8, at - 6 if line.dashed else at + 16, line.label)
        for number, series in enumerate(self.series):
            yield from _points(series, number, count, x, y)

    def _axes(self, low: int, high: int, count: int, x: Place, y: Place) -> Iterator[str]:
        for power in range(low, high + 1):
            at = y(10.0**power)
            yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_n(at)}" y2="{_n(at)}" stroke="#dddddd"/>'
            yield _text(LEFT - 8, at + 4, _power(power), anchor="end")
        step = 1 << max(0, math.ceil(math.log2(count / MOST_TICKS)))
        for index in range(0, count, step):
            yield _text(x(index), TOP + PLOT_HEIGHT + 18, str(index), anchor="middle")
        yield (f'<path d="M{LEFT} {TOP}V{TOP + PLOT_HEIGHT}H{WIDTH - RIGHT}" fill="none" stroke="{INK}"/>')
        yield _text((LEFT + WIDTH - RIGHT) / 2, TOP + PLOT_HEIGHT + 40, self.across, anchor="middle")
        middle = TOP + PLOT_HEIGHT / 2
        yield (
            f'<text x="20" y="{_n(middle)}" text-anchor="middle" transform="rotate(-90 20 {_n(middle)})">'
            f"{escape(self.up)}</text>"
        )

    def _legend(self) -> Iterator[str]:
        at = TOP + PLOT_HEIGHT + FOOT + 8
        for number, series in enumerate(self.series):
            yield _mark(LEFT + 6, at - 4, 5, number, hollow=False)
            if series.hollow is not None and series.hollow.any():
                yield _mark(LEFT + 24, at - 4, 5, number, hollow=True)
            yield _text(LEFT + 38, at, ": ".join(filter(None, [series.name, series.remark])))
            at += LEGEND_LINE
        if any(series.before is not None for series in self.series):
            yield f'<path d="M{LEFT} {at - 4}h30" stroke="{FAINT}" stroke-width="1.5"/>'
            yield _text(LEFT + 38, at, "before scaling")
            at += LEGEND_LINE
        if self.beyond:
            yield _box(LEFT, at - 12, 30, 14)
            yield _text(LEFT + 38, at, self.beyond)


def _box(x: float, y: float, width: float, height: float) -> str:
    return f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" fill="{SHADE}"/>'


def _points(series: Series, number: int, count: int, x: Place, y: Place) -> Iterator[str]:
    if series.before is not None:
        places = [(x(i), y(v)) for i, v in enumerate(series.before.tolist()) if math.isfinite(v) and v > 0]
        path = "M" + "L".join(f"{_n(a)} {_n(b)}" for a, b in places)
        yield f'<path d="{path}" fill="none" stroke="{FAINT}" stroke-width="1.5"/>'
    size = max(1.5, min(5.0, 300 / count))
    for index, value in enumerate(series.values.tolist()):
        if math.isfinite(value) and value > 0:
            hollow = series.hollow is not None and bool(series.hollow[index])
            yield _mark(x(index), y(value), size, number, hollow=hollow)


def _mark(x: float, y: float, size: float, number: int, *, hollow: bool) -> str:
    colour = COLOURS[number % len(COLOURS)]
    paint = f'fill="#ffffff" stroke="{colour}" stroke-width="1.5"' if hollow else f'fill="{colour}" stroke="{colour}"'
    shape = SHAPES[number % len(SHAPES)]
    if shape == "circle":
        return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(size)}" {paint}/>'
    if shape == "square":
        side = 1.8 * size
        return f'<rect x="{_n(x - side / 2)}" y="{_n(y - side / 2)}" width="{_n(side)}" height="{_n(side)}" {paint}/>'
    corners = {"triangle": ((0, -1.2), (1.1, 0.9), (-1.1, 0.9)), "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0))}
    path = "L".join(f"{_n(x + size * a)} {_n(y + size * b)}" for a, b in corners[shape])
    return f'<path d="M{path}Z" {paint}/>'


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", size: int = 13, weight: str = "", fill: str = ""
) -> str:
    extra = "".join(
        f' {key}="{value}"'
        for key, value in (("font-size", size if size != 13 else ""), ("font-weight", weight), ("fill", fill))
        if value
    )
    return f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}"{extra}>{escape(text)}</text>'


def _power(power: int) -> str:
    """A power of ten as people write it: 1, 10, ... 100,000, then 10 with an exponent."""
    if 0 <= power <= 6:
        return f"{10**power:,}"
    return "10" + str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _n(value: float) -> str:
    """A coordinate in at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
