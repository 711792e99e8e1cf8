"""What is wrong or risky in models' settings."""

from typing import Literal

from ordinate.results.base import Record, Version
from ordinate.rules.base import Finding

COMMAND = "ordinate check MODEL --format json"
BEFORE = {"reports"}


class Report(Record, frozen=True):
    """What was found in one model's files.

    Args:
        file: the main file
        findings: of every severity, the gravest first
    """

    file: str
    findings: list[Finding]


class Check(Record, frozen=True):
    """What is wrong or risky in models' positional settings.

    Args:
        schema_version: of this schema
        kind: "check"
        reports: one a model that could be read
    """

    schema_version: Version
    kind: Literal["check"]
    reports: list[Report]


FORM = Check
