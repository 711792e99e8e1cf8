"""What a validation claims: the card of a run."""

from typing import Any, Literal

import msgspec

from ordinate.results.base import Record, Version
from ordinate.validate.claims import Claim, Failure, Figure, Reach, Row

COMMAND = "ordinate report RUN --format json"


class Validate(Record, frozen=True):
    """All that is claimed of one model, with what it rests on.

    Args:
        schema_version: of this schema
        kind: "validate"
        model: facts that determine the run, by name
        suite: which one was run
        claims: of all levels
        rows: of all cells of L3
        outcomes: how many samples ended how
        failures: the first few refusals, unparsed answers and errors of each kind
        compatibility: figures as other benchmarks define them, for comparison alone
        caveats: of the whole, a sentence each
        profile: how far each task is supported
        headline: the task that reaches least among those above their floor; null where there is none
        controls: of the outcomes, those of controls: without evidence, with other evidence, or with nothing else
    """

    schema_version: Version
    kind: Literal["validate"]
    model: dict[str, Any]
    suite: str
    claims: list[Claim]
    rows: list[Row]
    outcomes: dict[str, int]
    failures: list[Failure]
    compatibility: list[Figure]
    caveats: list[str]
    profile: list[Reach]
    headline: Reach | None
    controls: dict[str, int] = msgspec.field(default_factory=dict)


FORM = Validate
