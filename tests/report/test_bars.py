"""Bars and logarithmic axes: what is drawn stands where its number says."""

import math
import re

import pytest

from ordinate.errors import InputError
from ordinate.report.bars import Bar, Bars
from ordinate.report.chart import ROLES, Chart, Line, Mark, Point, marker
from ordinate.report.figure import figure
from ordinate.report.markup import table


def bars(*drawn, **options):
    return Bars("name", "A title.", "A summary.", "GiB", drawn, **options)


def widths(text):
    return [float(width) for width in re.findall(r'class="bar"[^>]* width="([\d.]+)"', text)]


@pytest.mark.parametrize("form, width", [("wide", 720), ("narrow", 360)])
def test_bars_are_as_long_as_their_numbers(form, width):
    chart = bars(Bar("a", 1.0, "1"), Bar("b", 2.5, "2.5"), Bar("c", 0.0, "0"), Bar("d", 5.0, "5"))
    a, b, c, d = widths(chart.svg(width, chart.height(form), form))
    assert c == 0
    assert b / a == pytest.approx(2.5, rel=0.01)
    assert d / a == pytest.approx(5, rel=0.01)
    # The last mark of the axis stands at the right margin: 5 where there is room for seven marks, 6 for five.
    assert d == pytest.approx((width - 28) * 5 / {"wide": 5, "narrow": 6}[form], abs=0.2)


def test_equal_ratios_are_equally_long_on_a_logarithmic_axis():
    chart = bars(*[Bar("x", 10.0**power, "") for power in (-6, -5, -3)], Bar("none", 0.0, "0"), logarithmic=True)
    one, two, three, none = widths(chart.svg(720, chart.height("wide"), "wide"))
    assert (one, none) == (0, 0)
    assert three - two == pytest.approx(2 * (two - one), abs=0.3)


def test_intervals_limits_and_marks_stand_at_their_numbers():
    chart = bars(Bar("x", 2.0, "2", low=1.0, high=3.0, limit=4.0, good=True), marks=[(4.0, "at four")])
    text = chart.svg(720, chart.height("wide"), "wide")
    (bar,) = widths(text)
    low, high = (float(x) for x in re.search(r'class="error" x1="([\d.]+)" x2="([\d.]+)"', text).groups())
    limit = float(re.search(r'class="limit" x1="([\d.]+)"', text)[1])
    mark = float(re.search(r'class="mark" x1="([\d.]+)"', text)[1])
    assert (low - 12, high - 12) == pytest.approx((bar / 2, 1.5 * bar), abs=0.2)
    assert limit == mark == pytest.approx(12 + 2 * bar, abs=0.2)


def test_what_misses_its_bar_has_a_sign_and_not_a_colour_alone():
    text = bars(Bar("slow", 1.0, "1", good=False), Bar("quick", 2.0, "2", good=True)).svg(720, 200, "wide")
    assert ">! slow<" in text
    assert ">quick<" in text


@pytest.mark.parametrize("name", ["a " * 100, "x" * 300, ""])
def test_a_long_name_has_two_lines_at_most_for_which_there_is_room(name):
    chart = bars(Bar(name, 1.0, "1"), Bar("next", 1.0, "1"))
    text = chart.svg(360, chart.height("narrow"), "narrow")
    names = [float(y) for y in re.findall(r'class="label halo"[^>]* y="([\d.]+)"', text)]
    drawn = [float(y) for y in re.findall(r'class="bar"[^>]* y="([\d.]+)"', text)]
    assert 2 <= len(names) <= 3
    assert names == sorted(names)
    assert max(names[:-1]) < drawn[0] < names[-1] < drawn[1] < chart.height("narrow")


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, 1e200])
def test_a_number_that_no_bar_can_be_is_refused(value):
    with pytest.raises(InputError, match="'name' needs bars, all finite, none below 0 and none above"):
        bars(Bar("x", value, "")).svg(720, 100, "wide")
    with pytest.raises(InputError, match="needs bars"):
        bars().svg(720, 100, "wide")


def curve(heights, **options):
    points = [Point(x, x, y) for x, y in enumerate(heights)]
    return Chart(
        "name", "A title", "A summary.", "pair", "tokens", [Line("extended", "a line", points)], [0], **options
    )


def places(text):
    path = re.search(r'class="joined" points="([^"]+)"', text)[1]
    return [float(pair.split(",")[1]) for pair in path.split()]


def test_equal_ratios_are_equally_high_on_a_logarithmic_axis():
    a, b, c = places(curve([10.0, 100.0, 10000.0], logarithmic_y=True).svg(600, 300, "wide"))
    assert b - c == pytest.approx(2 * (a - b), abs=0.3)


def test_a_level_stands_at_its_height_and_close_words_do_not_meet():
    levels = [Mark(100.0, "lower"), Mark(110.0, "upper")]
    text = curve([10.0, 100.0, 10000.0], logarithmic_y=True, levels=levels).svg(600, 300, "wide")
    lines = [float(y) for y in re.findall(r'class="mark"[^>]* y1="([\d.]+)"', text)]
    words = [float(y) for y in re.findall(r'class="tick halo"[^>]* y="([\d.]+)"', text)]
    assert lines[1] == pytest.approx(places(text)[1], abs=0.1)
    assert lines[0] < lines[1]
    assert words[1] - words[0] >= 12


def test_what_has_no_logarithm_is_refused():
    with pytest.raises(InputError, match="every y must be > 0"):
        curve([1.0, 0.0], logarithmic_y=True).svg(600, 300, "wide")


def test_every_line_has_a_marker_of_its_own():
    assert len({re.sub(r"[\d.]+", "0", marker(role, 9.0, 9.0)) + marker(role, 9.0, 9.0) for role in ROLES}) == len(
        ROLES
    )


def test_a_figure_has_a_sentence_both_sizes_and_its_table():
    chart = bars(Bar("x", 1.0, "1"))
    text = figure(chart, table("Numbers", ["Name", "Value"], [["x", "1"]]))
    assert "<strong>A title.</strong> A summary." in text
    assert text.count("<svg") == 2
    assert "<table>" in text
    assert 'class="legend"' not in text
