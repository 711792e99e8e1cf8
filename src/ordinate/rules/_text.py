"""Findings for a terminal."""

import textwrap
from collections.abc import Sequence

from ordinate.rules._run import Report
from ordinate.rules.base import SEVERITIES, Finding, Rule, Severity

WIDTH = 100


def to_text(reports: Sequence[Report], least: Severity) -> str:
    """The findings at or above a severity, two to four lines each, and how many there are."""
    lines = []
    for report in reports:
        for finding in shown(report, least):
            lines += _finding(finding)
    return "\n".join([*lines, *(_summary(report, least) for report in reports)])


def shown(report: Report, least: Severity) -> list[Finding]:
    """The findings of a report at or above a severity."""
    return [f for f in report.findings if SEVERITIES.index(f.severity) >= SEVERITIES.index(least)]


def _finding(finding: Finding) -> list[str]:
    place = finding.file if finding.line is None else f"{finding.file}:{finding.line}"
    body = textwrap.wrap(finding.evidence, WIDTH - 2, break_long_words=False, break_on_hyphens=False)
    fix = textwrap.wrap(f"fix: {finding.fix}", WIDTH - 2, break_long_words=False, break_on_hyphens=False)
    return [f"{place}: {finding.severity} [{finding.rule}]", *(f"  {line}" for line in (*body, *fix))]


def _summary(report: Report, least: Severity) -> str:
    counts = {severity: sum(f.severity == severity for f in report.findings) for severity in reversed(SEVERITIES)}
    said = [f"{count} {severity}{'s' * (count != 1)}" for severity, count in counts.items() if count]
    hidden = len(report.findings) - len(shown(report, least))
    which = "" if hidden == len(report.findings) else f"{hidden} "
    tail = f" ({which}not shown or counted at --severity {least})" if hidden else ""
    return f"{report.file}: {', '.join(said) or 'nothing found'}{tail}"


def explain(rule: Rule) -> str:
    """What a rule is about, why it matters, what to do, where it happened, and an example."""
    import json

    engines = f"Only with --engine {', '.join(rule.engines)}." if rule.engines else ""
    parts = [
        f"{rule.id} ({rule.severity})",
        *(textwrap.fill(text, WIDTH) for text in (rule.explanation, rule.why, f"Fix: {rule.remedy}", engines) if text),
        "Reports:\n" + "\n".join(f"  {report}" for report in rule.reports),
        f"Example:\n{textwrap.indent(json.dumps(rule.example, indent=2), '  ')}",
    ]
    return "\n\n".join(parts)
