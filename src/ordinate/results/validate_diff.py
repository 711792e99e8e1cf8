"""Two runs of a validation, before and after a change."""

from typing import Any, Literal

from ordinate.results.base import Record, Version
from ordinate.validate.claims import Claim
from ordinate.validate.regression import Extension, Flip

COMMAND = "ordinate diff RUN RUN --format json"


class ValidateDiff(Record, frozen=True):
    """Two runs of the same instances, before and after a change.

    Args:
        schema_version: of this schema
        kind: "validate-diff"
        before: facts of the first run, by name
        after: facts of the second run, by name
        claims: of level R, one for each task at its short length
        extension: verdicts by length, side by side
        flips: answers of the short lengths that changed
        apart: facts in which the runs differ and may, in words
    """

    schema_version: Version
    kind: Literal["validate-diff"]
    before: dict[str, Any]
    after: dict[str, Any]
    claims: list[Claim]
    extension: list[Extension]
    flips: list[Flip]
    apart: list[str]


FORM = ValidateDiff
