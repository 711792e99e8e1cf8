"""What a model takes in memory, and what fits."""

from typing import Literal

from ordinate.plan.result import Plan
from ordinate.results.base import Version

COMMAND = "ordinate plan MODEL --format json"


class PlanResult(Plan, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a model takes in memory, and what fits.

    Args:
        schema_version: of this schema
        kind: "plan"
    """

    schema_version: Version
    kind: Literal["plan"]


FORM = PlanResult
