"""Horizontal bars in SVG: a number of each name, with its interval and the bar that it should meet."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from ordinate.errors import InputError
from ordinate.report.axes import MOST, decades, drawable, short, ticks
from ordinate.report.chart import WIDTHS, Line
from ordinate.report.drawing import drawing
from ordinate.report.markup import Markup, element

_LINE, _THICK, _GAP, _TOP, _FOOT, _LEFT, _RIGHT = 15.0, 12.0, 14.0, 8.0, 46.0, 12.0, 16.0
_CHARACTER = 6.7
"""About how wide a letter is, [CSS pixel]."""


@dataclass(frozen=True)
class Bar:
    """One number.

    Args:
        name: over the bar
        value: how long it is
        written: the value in words, behind the name
        low, high: its interval, or None
        limit: what it should meet, or None
        good: whether it does; None where that is not asked
    """

    name: str
    value: float
    written: str
    low: float | None = None
    high: float | None = None
    limit: float | None = None
    good: bool | None = None


@dataclass(frozen=True)
class Bars:
    """A chart of bars under each other; `svg` draws it.

    Args:
        name: unique in the page
        title: what it shows
        summary: what is to be seen, in one sentence
        label: of the axis, with its unit
        bars: at least one
        logarithmic: whether equal ratios are equally long; a value of 0 has no bar then
        marks: values with a line through all bars, and their words
    """

    name: str
    title: str
    summary: str
    label: str
    bars: Sequence[Bar]
    logarithmic: bool = False
    marks: Sequence[tuple[float, str]] = ()

    @property
    def lines(self) -> Sequence[Line]:
        """None: every bar has its name."""
        return ()

    def height(self, form: str) -> int:
        """How high it is drawn in a size, [CSS pixel]."""
        rows = [_LINE * len(_names(bar, WIDTHS[form])) + _THICK + _GAP for bar in self.bars]
        return int(self._top + sum(rows) + _FOOT)

    @property
    def _top(self) -> float:
        """Where the first bar's name is; the words of marks stand above."""
        return _TOP + 16.0 * len(self.marks)

    def svg(self, width: int, height: int, form: str) -> Markup:
        """Draw it.

        Args:
            width, height: in CSS pixels, for which the size of the letters is right
            form: a word for this size, which makes ids unique and is the element's class
        """
        scale = _Scale(self, width)
        bottom = float(height) - _FOOT
        parts = [*_ticks(scale, self._top, bottom)]
        for row, (value, words) in enumerate(self.marks):
            x, y = scale.x(value), _TOP + 16.0 * row
            anchor, aside = ("start", 4) if x < width / 2 else ("end", -4)
            parts.append(element("line", class_="mark", x1=x, x2=x, y1=y, y2=bottom))
            parts.append(element("text", words, class_="tick halo", x=x + aside, y=y + 10, text_anchor=anchor))
        y = self._top
        for bar in self.bars:
            names = _names(bar, width)
            parts.append(_bar(bar, names, scale, y))
            y += _LINE * len(names) + _THICK + _GAP
        middle = (_LEFT + width - _RIGHT) / 2
        parts.append(element("text", self.label, class_="label", x=middle, y=float(height - 8), text_anchor="middle"))
        name = f"{self.name}-{form}"
        return drawing(name, self.title, parts, width=width, height=height, summary=self.summary, form=form)


class _Scale:
    """Where numbers lie across the paper."""

    def __init__(self, chart: Bars, width: int) -> None:
        numbers = [
            number for bar in chart.bars for number in (bar.value, bar.low, bar.high, bar.limit) if number is not None
        ] + [value for value, _ in chart.marks]
        if not chart.bars or not all(drawable(number) and number >= 0 for number in numbers):
            raise InputError(f"chart {chart.name!r} needs bars, all finite, none below 0 and none above {MOST:g}")
        self.width, self.logarithmic = width, chart.logarithmic
        above = [number for number in numbers if number > 0]
        if chart.logarithmic:
            self.ticks = decades(min(above, default=1.0), max(above, default=1.0))
            self.low, self.high = (math.log10(self.ticks[i]) for i in (0, -1))
        else:
            self.ticks = ticks(0.0, max(numbers), 7 if width > 500 else 5)
            self.low, self.high = self.ticks[0], self.ticks[-1]

    def x(self, value: float) -> float:
        place = (math.log10(value) if value > 0 else self.low) if self.logarithmic else value
        return round(_LEFT + (place - self.low) / (self.high - self.low) * (self.width - _LEFT - _RIGHT), 1)


def _ticks(scale: _Scale, top: float, bottom: float) -> list[Markup]:
    found = []
    for number, value in enumerate(scale.ticks):
        x = scale.x(value)
        # The first and the last stay on the paper.
        anchor = "start" if number == 0 else "end" if number == len(scale.ticks) - 1 else "middle"
        aside = {"start": -_LEFT + 2, "end": _RIGHT - 2, "middle": 0.0}[anchor]
        found.append(element("line", class_="grid", x1=x, x2=x, y1=top, y2=bottom))
        found.append(element("text", short(value), class_="tick", x=x + aside, y=bottom + 18, text_anchor=anchor))
    return found


def _names(bar: Bar, width: int) -> list[str]:
    """A bar's name in at most two lines, beside which its number has room."""
    room = int((width - _LEFT - _RIGHT) / _CHARACTER) - len(bar.written) - 2
    sign = "! " if bar.good is False else ""  # told apart by a sign too, not by colour alone
    return textwrap.wrap(f"{sign}{bar.name}", max(room, 8), max_lines=2, placeholder=" …") or [""]


def _bar(bar: Bar, names: Sequence[str], scale: _Scale, y: float) -> Markup:
    """A name with its number, and the bar under it."""
    left, right, at = scale.x(scale.ticks[0]), scale.x(bar.value), y + _LINE * len(names) + 4
    look = {True: "good", False: "bad", None: "plain"}[bar.good]
    parts = [
        element("text", name, class_="label halo", x=_LEFT, y=y + _LINE * line + 12) for line, name in enumerate(names)
    ]
    parts += [
        element("text", bar.written, class_="tick halo", x=scale.width - _RIGHT, y=y + 12, text_anchor="end"),
        element("rect", class_="bar", x=left, y=at, width=max(round(right - left, 1), 0.0), height=_THICK),
    ]
    if bar.low is not None and bar.high is not None:
        low, high, middle = scale.x(bar.low), scale.x(bar.high), at + _THICK / 2
        parts.append(element("line", class_="error", x1=low, x2=high, y1=middle, y2=middle))
        parts += [element("line", class_="error", x1=x, x2=x, y1=middle - 4, y2=middle + 4) for x in (low, high)]
    if bar.limit is not None:
        x = scale.x(bar.limit)
        parts.append(element("line", class_="limit", x1=x, x2=x, y1=at - 3, y2=at + _THICK + 3))
    return element("g", *parts, class_=f"bars {look}")
