"""The page of an audit: what is wrong, what every case gave, and what could not be asked."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ordinate.audit.base import Finding
from ordinate.audit.report import Case, Document, place
from ordinate.describe.words import figures
from ordinate.report.bars import Bar, Bars
from ordinate.report.figure import figure
from ordinate.report.markup import Markup, element, facts, prose, table
from ordinate.report.numbers import count, fact
from ordinate.report.page import Page, Section
from ordinate.report.pages.check import counted, severity

SIGNS = {"passed": ("✓", "yes"), "failed": ("✗", "no"), "refused": ("–", "floor"), "undecided": ("?", "open")}
MOST = 40
"""Bars that a chart has at most; the table has all."""


def page(result: Mapping[str, Any]) -> Page:
    """What goes on the page of an audit.

    Args:
        result: as `ordinate.results.read` gives it
    """
    found = msgspec.convert(result, Document)
    name = str(found.subject.get("model") or found.subject.get("name") or found.subject.get("url") or "a model")
    checks = {one.check for one in found.outcomes if one.status == "passed"}
    noted = {one.check for one in found.outcomes if one.status == "failed"}
    notes = {one.kind for one in found.findings if one.severity == "note"}
    failed = {one.check for one in found.outcomes if one.status == "failed" and one.kind not in notes}
    said = counted(one.severity for one in found.findings)
    passed = len(checks - noted)
    said += f"; {passed} check{'s' * (passed != 1)} passed, {len(failed)} failed."
    if found.subject.get("ended"):
        said += f" Ended early: {found.subject['ended']}."
    wrong = any(one.severity != "note" for one in found.findings)
    look = "verdict worse" if wrong else "verdict" if found.subject.get("ended") else "verdict better"
    sections = [Section("verdict", "Verdict", [element("p", said, class_="headline")], look)]
    sections += [_finding(f"finding-{i}", one) for i, one in enumerate(found.findings, 1)]
    sections += [part for part in (_differences(found), _outcomes(found), _subject(found)) if part is not None]
    lead = "The same computed in every way that must give the same result, and compared."
    return Page(f"Audit of {name}", [lead], sections, said)


def _finding(name: str, one: Finding) -> Section:
    rows = [
        ("Seen", one.evidence),
        ("Where", place(one.where) or None),
        ("Cases", "; ".join(one.cases) or None),
        ("What to do", one.remedy),
        ("Reports", ", ".join(one.reports) or None),
    ]
    return Section(name, one.title, [element("p", severity(one.severity), f" · {one.kind}"), facts(one.kind, rows)])


def _differences(found: Document) -> Section | None:
    """How far each case is from the reference, against what counts as a fault."""
    cases = [one for one in found.outcomes if isinstance(one.numbers.get("max_difference"), int | float)]
    threshold, floor = found.subject.get("threshold"), found.subject.get("noise_floor")
    if not cases or not isinstance(threshold, float) or not isinstance(floor, float) or threshold <= 0 or floor <= 0:
        return None
    widest = sorted(cases, key=lambda one: -one.numbers["max_difference"])
    first = widest[0]
    chart = Bars(
        "differences",
        "Largest difference of a logit, by case.",
        f"The widest is {figures(first.numbers['max_difference'], 2)} logit ({_named(first)}); what is above "
        f"{figures(threshold, 2)} is a fault, and the noise floor is {figures(floor, 2)}."
        + (f" The widest {MOST} of {len(cases)} are drawn." if len(cases) > MOST else ""),
        "logit, equal ratios equally long",
        [
            Bar(
                _named(one),
                value := float(one.numbers["max_difference"]),
                figures(value, 2),
                good=one.status == "passed",
            )
            for one in widest[:MOST]
        ],
        logarithmic=True,
        marks=[(threshold, "a fault"), (floor, "noise floor")],
    )
    rows = [[one.check, one.case, figures(one.numbers["max_difference"], 3), one.status] for one in widest]
    numbers = prose(table("Largest difference of a logit", ["Check", "Case", "Difference, logit", "It is"], rows))
    return Section("differences", "How far apart", [figure(chart, numbers)])


def _named(one: Case) -> str:
    return f"{one.check}: {one.case}" if one.case else one.check


def _outcomes(found: Document) -> Section:
    rows: Sequence[Sequence[str]] = [[one.check, one.case, _status(one.status), one.evidence] for one in found.outcomes]
    body = prose(table("Every case of every check", ["Check", "Case", "It is", "Why"], rows))
    return Section("outcomes", "All cases", [element("details", element("summary", "The cases as a table"), body)])


def _status(name: str) -> Markup:
    sign, look = SIGNS.get(name, ("·", "none"))
    return element("span", element("span", sign, aria_hidden="true"), f" {name}", class_=f"word {look}")


def _subject(found: Document) -> Section:
    rows = [(name.replace("_", " "), _fact(one)) for name, one in found.subject.items()]
    return Section("subject", "What was audited", [facts("The subject", rows)])


def _fact(given: Any) -> str | None:
    if isinstance(given, list):
        return ", ".join(map(str, given)) or "none"
    if isinstance(given, float):
        return figures(given, 4)
    if isinstance(given, int) and not isinstance(given, bool):
        return count(given)
    return None if given is None else fact(given)
