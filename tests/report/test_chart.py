import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.errors import InputError
from ordinate.report.axes import short, ticks
from ordinate.report.chart import Chart, Line, Mark, Point


def chart(points, **options):
    lines = options.pop("lines", None) or [Line("original", "a line", points)]
    axis = options.pop("ticks", [0, 50, 100])
    return Chart("name", "A title", "A summary.", "x, tokens", "y, nats", lines, axis, **options)


def numbers(pattern, text):
    return [tuple(map(float, found)) for found in re.findall(pattern, text)]


PATH = r'class="joined" points="([^"]+)"'


def corners(text):
    return [tuple(map(float, pair.split(","))) for pair in re.search(PATH, text)[1].split()]


def test_places_are_proportional():
    drawn = chart([Point(0, 0, 1.0), Point(50, 50, 2.0), Point(100, 100, 3.0)]).svg(600, 300, "wide")
    (x0, y0), (x1, y1), (x2, y2) = corners(drawn)
    # From the left margin of 58 to the right one of 24; from 52 above the foot to 44 below the head.
    assert (x0, x1, x2) == (58.0, 317.0, 576.0)
    assert y0 > y1 > y2
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.15)
    assert 44.0 <= y2 < y0 <= 248.0


def test_equal_ratios_are_equally_far_apart_on_a_logarithmic_axis():
    points = [Point(n, n, 1.0 + n) for n in (512, 1024, 4096)]
    (x0, _), (x1, _), (x2, _) = corners(chart(points, ticks=[512, 1024, 4096], logarithmic=True).svg(600, 300, "wide"))
    assert x2 - x1 == pytest.approx(2 * (x1 - x0), abs=0.3)


def test_ranges_are_drawn_over_their_width_with_bands():
    drawn = chart([Point(0, 40, 2.0, half=0.5), Point(40, 100, 1.0, half=0.25)]).svg(600, 300, "wide")
    bands = numbers(r'class="band" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', drawn)
    assert [(round(x, 1), round(width, 1)) for x, _, width, _ in bands] == [(58.0, 207.2), (265.2, 310.8)]
    assert bands[0][3] == pytest.approx(2 * bands[1][3], abs=0.2)
    means = [float(y) for y in re.findall(r'class="mean"[^>]* y1="([\d.]+)"', drawn)]
    assert [y + height / 2 for _, y, _, height in bands] == pytest.approx(means, abs=0.1)
    assert means[0] < means[1]
    assert "joined" not in drawn


def test_bars_reach_to_either_side():
    drawn = chart([Point(10, 10, 2.0, half=1.0), Point(90, 90, 2.0)]).svg(600, 300, "wide")
    (top, bottom), _ = numbers(r'class="error" [^>]*y1="([\d.]+)" y2="([\d.]+)"', drawn)
    y = corners(drawn)[0][1]
    assert (top + bottom) / 2 == pytest.approx(y, abs=0.1)
    assert bottom - top > 10


@given(st.floats(-1e4, 1e4), st.floats(1e-3, 1e4))
def test_ticks_are_round_and_span_the_numbers(low, span):
    found = ticks(low, low + span)
    step = found[1] - found[0]
    assert found[0] <= low + 1e-6 * step
    assert found[-1] >= low + span - 1e-6 * step
    assert 2 <= len(found) <= 9
    mantissa = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(mantissa - round_number) for round_number in (1, 2, 5)) < 1e-3


def test_every_chart_says_what_it_is():
    drawn = chart([Point(0, 0, 1.0)]).svg(600, 300, "wide")
    assert 'role="img" aria-labelledby="name-wide-title name-wide-summary"' in drawn
    assert '<title id="name-wide-title">A title</title><desc id="name-wide-summary">A summary.</desc>' in drawn
    assert "x, tokens" in drawn
    assert "y, nats" in drawn


def test_marks_outside_the_axis_are_left_out():
    drawn = chart([Point(0, 0, 1.0)], marks=[Mark(50, "within"), Mark(500, "beyond")]).svg(600, 300, "wide")
    assert "within" in drawn
    assert "beyond" not in drawn


def test_lines_differ_by_more_than_colour():
    lines = [Line(role, role, [Point(0, 0, 1.0)]) for role in ("original", "extended", "difference")]
    drawn = chart([], lines=lines).svg(600, 300, "wide")
    assert [drawn.count(f'<{shape} class="marker"') for shape in ("rect", "circle", "polygon")] == [1, 1, 1]


def test_labels_that_would_touch_are_left_out():
    drawn = chart([Point(0, 0, 1.0)], ticks=[0, 1, 2, 10000]).svg(600, 300, "wide")
    assert re.findall(r'text-anchor="middle">([\d,]+)<', drawn) == ["0", "10,000"]


def test_no_line_goes_through_the_words_of_marks_and_levels():
    drawn = chart([Point(0, 0, 1.0), Point(50, 50, 3.0)], marks=[Mark(20, "here")], levels=[Mark(2.0, "there")])
    drawn = drawn.svg(600, 300, "wide")
    assert max(drawn.index(word) for word in ('class="mark"', "<polyline")) < drawn.index('class="tick halo"')


@pytest.mark.parametrize("points", [[], [Point(0, 0, math.nan)], [Point(0, 0, 1.0, math.inf)], [Point(0, 0, 1e200)]])
def test_what_cannot_be_drawn_is_refused(points):
    with pytest.raises(InputError, match="needs points, all finite and none beyond"):
        chart(points).svg(600, 300, "wide")


def test_equal_numbers_can_be_drawn():
    drawn = chart([Point(5, 5, 2.0)], ticks=[5]).svg(600, 300, "wide")
    assert "nan" not in drawn
    assert "inf" not in drawn.replace("information", "")


def test_powers_of_ten_on_an_axis_are_written_as_in_the_text():
    assert [short(value) for value in (1e-8, 1e-5, 1.5e-7, -1e-6, 1e12, 0.0001)] == [
        "10⁻⁸",
        "10⁻⁵",
        "1.5 × 10⁻⁷",
        "−10⁻⁶",
        "10¹²",
        "0.0001",
    ]
