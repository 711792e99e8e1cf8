"""Findings for programs: JSON, SARIF 2.1.0, and the annotations of GitHub's workflows."""

import dataclasses
import json
import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from ordinate.rules._run import Report, rules
from ordinate.rules._text import shown
from ordinate.rules.base import Finding, Severity
from ordinate.schema import beginning

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
GITHUB = {"error": "error", "warning": "warning", "note": "notice"}


def to_json(reports: Sequence[Report]) -> str:
    """All findings, whatever their severity."""
    listed = [
        {"file": report.file, "findings": [dataclasses.asdict(finding) for finding in report.findings]}
        for report in reports
    ]
    return json.dumps({**beginning("check"), "reports": listed}, indent=2, allow_nan=False, default=str)


def to_sarif(reports: Sequence[Report], version: str) -> str:
    """All findings as one run of the static analysis results interchange format."""
    listed = rules()
    index = {rule.id: number for number, rule in enumerate(listed)}
    driver = {
        "name": "ordinate",
        "version": version,
        "rules": [
            {
                "id": rule.id,
                "shortDescription": {"text": rule.explanation},
                "fullDescription": {"text": rule.why},
                "help": {"text": f"{rule.remedy} Reports: {', '.join(rule.reports)}"},
                "defaultConfiguration": {"level": rule.severity},
            }
            for rule in listed
        ],
    }
    results = [_result(finding, index[finding.rule]) for report in reports for finding in report.findings]
    return json.dumps(
        {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]},
        indent=2,
        allow_nan=False,
        default=str,
    )


def _result(finding: Finding, index: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.file)}}
    if finding.line is not None:
        place["region"] = {"startLine": finding.line}
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": f"{finding.evidence}. Fix: {finding.fix}"},
        "locations": [{"physicalLocation": place}],
        "properties": {"key": finding.key, "numbers": dict(finding.numbers)},
    }


def _uri(file: str) -> str:
    path = PurePath(file)
    if path.is_absolute():
        near = os.path.relpath(file)
        if near.startswith(".."):
            return path.as_uri()
        path = PurePath(near)
    return quote(path.as_posix())


def to_github(reports: Sequence[Report], least: Severity) -> str:
    """The findings at or above a severity as workflow commands, one a line."""
    return "\n".join(_command(finding) for report in reports for finding in shown(report, least))


def _command(finding: Finding) -> str:
    line = "" if finding.line is None else f",line={finding.line}"
    properties = f"file={_property(finding.file)}{line},title={_property(finding.rule)}"
    return f"::{GITHUB[finding.severity]} {properties}::{_data(f'{finding.evidence}. Fix: {finding.fix}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
