"""Several results together."""

from typing import Any, Literal

from ordinate.results.base import Record, Version

COMMAND = "ordinate report RESULT RESULT ... --format json"


class Report(Record, frozen=True):
    """Several results together.

    Args:
        schema_version: of this schema
        kind: "report"
        results: each as its own command prints it
    """

    schema_version: Version
    kind: Literal["report"]
    results: list[dict[str, Any]]


FORM = Report
