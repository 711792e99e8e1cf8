"""A model in another engine's words."""

from typing import Any, Literal

from ordinate.dialects.base import Loss
from ordinate.results.base import Record, Version
from ordinate.results.diff import Proof

COMMAND = "ordinate translate MODEL --to ENGINE --format json"
BEFORE = {"model", "fingerprint", "engine", "faithful", "settings", "text", "losses", "steps", "proof"}


class Translate(Record, frozen=True):
    """A model's positional settings in another engine's words.

    Args:
        schema_version: of this schema
        kind: "translate"
        model: its name
        fingerprint: of what its files say
        engine: to which it is translated
        version: of the engine
        faithful: whether nothing is lost
        settings: the engine's own, by name; null where the words are withheld
        text: what to paste; null where it is withheld
        losses: what the engine drops, replaces or cannot say
        steps: what else is to be done, a sentence each
        proof: what the engine computes from the words, against the model
    """

    schema_version: Version
    kind: Literal["translate"]
    model: str
    fingerprint: str
    engine: str
    version: str
    faithful: bool
    settings: dict[str, Any] | None
    text: str | None
    losses: list[Loss]
    steps: list[str]
    proof: list[Proof]


FORM = Translate
