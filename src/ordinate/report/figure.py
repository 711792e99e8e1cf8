"""A chart with its legend, its sentence and its numbers as a table."""

from ordinate.report.chart import Chart, Line, marker
from ordinate.report.markup import Markup, element


def figure(chart: Chart, numbers: Markup, *, shown: bool = False) -> Markup:
    """A chart in two sizes, of which the page shows the one that fits, and the same numbers as a table.

    Args:
        chart: what is drawn
        numbers: its table
        shown: whether the table is open from the start
    """
    legend = element("ul", *[element("li", _sample(line), " ", line.name) for line in chart.lines], class_="legend")
    return element(
        "figure",
        element("figcaption", element("strong", chart.title), " ", chart.summary),
        legend,
        chart.svg(720, 360, "wide"),
        chart.svg(360, 320, "narrow"),
        element("details", element("summary", "The numbers as a table"), numbers, open="open" if shown else None),
    )


def _sample(line: Line) -> Markup:
    stroke = element("line", class_="joined", x1=1, x2=33, y1=7, y2=7)
    inside = element("g", stroke, marker(line.role, 17, 7), class_=line.role)
    return element("svg", inside, viewBox="0 0 34 14", width=34, height=14, aria_hidden="true")
