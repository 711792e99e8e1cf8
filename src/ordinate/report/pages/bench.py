"""The page of benchmarks: every figure with its interval and its bar."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ordinate.describe.words import figures
from ordinate.report.bars import Bar, Bars
from ordinate.report.figure import figure
from ordinate.report.markup import element, facts, listing, prose, table
from ordinate.report.page import Page, Section
from ordinate.results.bench import Bench, Figure, Measurement

UNITS = {"x": "×", "us": " µs"}


def page(result: Mapping[str, Any]) -> Page:
    """What goes on the page of benchmarks.

    Args:
        result: as `ordinate.results.read` gives it
    """
    found = msgspec.convert(result, Bench)
    barred = [one for measured in found.measurements for one in measured.figures if one.bar is not None]
    met = sum(one.bar != "not met" for one in barred)
    said = f"{len(found.measurements)} benchmarks; {met} of {len(barred)} bars are met."
    good = met == len(barred) and not found.not_timed
    sections = [Section("verdict", "Verdict", [element("p", said, class_="headline")], _look(good, bool(barred)))]
    if found.not_timed:
        sections.append(Section("inaccurate", "What was not timed", [listing(found.not_timed)]))
    sections += [_measured(f"case-{i}", measured) for i, measured in enumerate(found.measurements, 1)]
    sections.append(_machine(found))
    lead = "A figure is the median over the rounds, with the 95 % interval of that median."
    note = "An upright stroke is the bar that a figure should meet; a figure that does not has ! before its name."
    return Page(f"Speed on {found.machine.processor.partition(' (')[0]}", [lead, note], sections, said)


def _look(good: bool, asked: bool) -> str:
    return "verdict" if not asked else "verdict better" if good else "verdict worse"


def _measured(name: str, found: Measurement) -> Section:
    body = []
    for unit in dict.fromkeys(one.unit for one in found.figures):
        shown = [one for one in found.figures if one.unit == unit]
        body.append(_chart(f"{name}-{unit}", unit, shown))
    rows = [
        [contender, str(took.threads), *[figures(1e3 * second, 4) for second in took.seconds]]
        for contender, took in found.contenders.items()
    ]
    header = ["Contender", "Threads", "Least, ms", "Median, ms", "Most, ms"]
    times = prose(table("What each contender took", header, rows))
    body.append(element("details", element("summary", "The times as a table"), times))
    note = (
        f"{found.name}: {found.rounds} rounds by {found.clock}. The {found.difference_is} is "
        f"{figures(found.difference, 2)}, where {figures(found.tolerance, 2)} is allowed."
    )
    return Section(name, found.case, [element("p", note, class_="note"), *body])


def _chart(name: str, unit: str, found: list[Figure]) -> str:
    bars = [
        Bar(one.name, one.median, _written(one), *one.interval, limit=_limit(one), good=_good(one)) for one in found
    ]
    chart = Bars(
        name,
        "Figures.",
        " ".join(f"{one.name}: {_written(one)}." for one in found[:2]),
        "times as much" if unit == "x" else "microseconds",
        bars,
    )
    rows = [
        [one.name, _written(one), " to ".join(figures(end, 3) for end in one.interval), *_bar(one)] for one in found
    ]
    return figure(chart, prose(table("Figures", ["Figure", "Median", "Interval", "Bar", "It is"], rows)))


def _written(one: Figure) -> str:
    return f"{figures(one.median, 3)}{UNITS[one.unit]}"


def _limit(one: Figure) -> float | None:
    return one.at_most if one.at_most is not None else one.at_least


def _good(one: Figure) -> bool | None:
    return None if one.bar is None else one.bar != "not met"


def _bar(one: Figure) -> list[str]:
    limit = _limit(one)
    word = "at most" if one.at_most is not None else "at least"
    return ["none" if limit is None else f"{word} {figures(limit)}{UNITS[one.unit]}", one.bar or ""]


def _machine(found: Bench) -> Section:
    here = found.machine
    rows = [
        ("Processor", here.processor),
        ("Kernels for", here.instruction_set or "none are here"),
        ("Cores", None if here.cores is None else str(here.cores)),
        ("malloc", here.malloc),
        *((name, version) for name, version in here.versions.items()),
    ]
    return Section("machine", "The machine", [facts("What times depend on", rows)])
