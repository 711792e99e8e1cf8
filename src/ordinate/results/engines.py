"""How engines run one model."""

from typing import Literal

from ordinate.dialects.base import Loss
from ordinate.results.base import Record, Version
from ordinate.results.diff import Proof

COMMAND = "ordinate diff MODEL --engines all --format json"
BEFORE = {"model", "fingerprint", "engines"}


class Engine(Record, frozen=True):
    """How one engine runs the model.

    Args:
        engine: its name
        version: of which this is true
        same: whether it runs the model as its files say
        refusal: why it cannot run the model, or null
        tokens: for how many the engine is taken to be started, [token]
        elsewhere: whether it is the same at this length and not at others
        files_alone: whether this is what it computes without the flags that the model is translated to
        losses: why it differs
        proof: how far what it computes is from what the files say; empty where it cannot run the model
    """

    engine: str
    version: str
    same: bool
    refusal: str | None
    tokens: int | None
    elsewhere: bool
    files_alone: bool
    losses: list[Loss]
    proof: list[Proof]


class Engines(Record, frozen=True):
    """One model as engines run it.

    Args:
        schema_version: of this schema
        kind: "engines"
        model: its name
        fingerprint: of what its files say
        engines: one by one
    """

    schema_version: Version
    kind: Literal["engines"]
    model: str
    fingerprint: str
    engines: list[Engine]


FORM = Engines
