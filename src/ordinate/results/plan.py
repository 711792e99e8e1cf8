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

    def __post_init__(self) -> None:
        """Refuse what no plan is: one without cells, or ways without the one that was asked for."""
        if not self.cells:
            raise ValueError("Expected `cells` of at least one context and batch")
        if self.ways is not None and not self.ways.memory:
            raise ValueError("Expected `ways.memory` of at least one way")


FORM = PlanResult
