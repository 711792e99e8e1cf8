"""How a run of a validation ended, with its card."""

from typing import Literal

from ordinate.results.base import Record, Version
from ordinate.results.validate import Validate

COMMAND = "ordinate validate MODEL --format json"
BEFORE = {"run", "ended", "why", "tokens", "shard", "trials", "card"}


class Trial(Record, frozen=True):
    """The verdicts of one task.

    Args:
        task: its name
        measure: what is measured: "answer", "margin" or "language"
        verdicts: by length, [token]
    """

    task: str
    measure: str
    verdicts: dict[str, str]


class Run(Record, frozen=True):
    """How a run ended, and what it claims.

    Args:
        schema_version: of this schema
        kind: "run"
        run: its folder
        ended: "complete", or what ended it before
        why: in words, where it ended before
        tokens: that it took, [token]
        shard: which part of several this is, such as "0/4"; null where it is the whole
        trials: one a task
        card: what is claimed
    """

    schema_version: Version
    kind: Literal["run"]
    run: str
    ended: str
    why: str
    tokens: int
    shard: str | None
    trials: list[Trial]
    card: Validate


FORM = Run
