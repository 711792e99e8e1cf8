"""The page of a check: what is wrong or risky in models' settings, and what to write instead."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ordinate.report.markup import Markup, element, facts
from ordinate.report.page import Page, Section
from ordinate.results.check import Check, Report
from ordinate.rules.base import Finding

LOOKS = {"error": ("✗", "no"), "warning": ("!", "no"), "note": ("i", "floor")}
"""A sign and a look for each severity: neither colour nor ink is needed to tell them apart."""


def page(result: Mapping[str, Any]) -> Page:
    """What goes on the page of a check.

    Args:
        result: as `ordinate.results.read` gives it
    """
    found = msgspec.convert(result, Check)
    every = [finding for report in found.reports for finding in report.findings]
    models = f"{len(found.reports)} model{'s' * (len(found.reports) != 1)}"
    said = f"{counted(finding.severity for finding in every)} in {models}."
    wrong = any(finding.severity != "note" for finding in every)
    verdict = Section(
        "verdict", "Verdict", [element("p", said, class_="headline")], "verdict worse" if wrong else "verdict better"
    )
    sections = [_report(f"report-{i}", report) for i, report in enumerate(found.reports, 1)]
    names = found.reports[0].file if len(found.reports) == 1 else f"{len(found.reports)} models"
    lead = "What is wrong or risky in the positional settings, each with its evidence and what to write instead."
    return Page(f"Check of {names}", [lead], [verdict, *sections], said)


def counted(severities: Iterable[str]) -> str:
    """How many findings of each severity, in words.

    >>> counted(["note", "error", "note"]), counted([])
    ('1 error, 2 notes', 'Nothing found')
    """
    found = Counter(severities)
    parts = [f"{found[name]} {name}{'s' * (found[name] != 1)}" for name in LOOKS if found[name]]
    return ", ".join(parts) or "Nothing found"


def severity(name: str) -> Markup:
    """A severity with its sign."""
    sign, look = LOOKS[name]
    return element("span", element("span", sign, aria_hidden="true"), f" {name}", class_=f"word {look}")


def _report(name: str, report: Report) -> Section:
    if not report.findings:
        return Section(name, report.file, [element("p", "Nothing found.")])
    body = [part for number, one in enumerate(report.findings, 1) for part in _finding(number, one)]
    return Section(name, report.file, body)


def _finding(number: int, one: Finding) -> list[Markup]:
    place = (one.key or "the whole file") + ("" if one.line is None else f", line {one.line}")
    rows = [("Where", place), ("What is so", one.evidence), ("What to write", one.fix)]
    lead = element("p", severity(one.severity), " · ", element("code", one.rule))
    return [lead, facts(f"Finding {number}: {one.rule}", rows)]
