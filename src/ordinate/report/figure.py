"""A chart with its legend, its sentence and its numbers as a table."""

from collections.abc import Sequence
from typing import Protocol

from ordinate.report.chart import WIDTHS, Line, marker
from ordinate.report.markup import Markup, element


class Drawn(Protocol):
    """A chart of any kind."""

    @property
    def title(self) -> str: ...

    @property
    def summary(self) -> str: ...

    @property
    def lines(self) -> Sequence[Line]: ...

    def height(self, form: str) -> int: ...

    def svg(self, width: int, height: int, form: str) -> Markup: ...


def figure(chart: Drawn, numbers: Markup, *, shown: bool = False) -> Markup:
    """A chart in two sizes, of which the page shows the one that fits, and the same numbers as a table.

    Args:
        chart: what is drawn
        numbers: its table
        shown: whether the table is open from the start
    """
    keys = [element("li", sample(line.role), " ", line.name) for line in chart.lines]
    drawn = [chart.svg(width, chart.height(form), form) for form, width in WIDTHS.items()]
    return element(
        "figure",
        element("figcaption", element("strong", chart.title), " ", chart.summary),
        # One line needs no name beside the title.
        element("ul", *keys, class_="legend") if len(keys) > 1 else "",
        *drawn,
        element("details", element("summary", "The numbers as a table"), numbers, open="open" if shown else None),
    )


def sample(role: str, sign: str | None = None) -> Markup:
    """A short piece of a line, for a legend.

    Args:
        role: of the line, which gives it its colour and stroke
        sign: whose marker it has; the role's own where not given
    """
    stroke = element("line", class_="joined", x1=1, x2=33, y1=7, y2=7)
    inside = element("g", stroke, marker(sign or role, 17, 7), class_=role)
    return element("svg", inside, viewBox="0 0 34 14", width=34, height=14, aria_hidden="true")
