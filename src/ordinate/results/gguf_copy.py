"""A copy of a GGUF file with other positional settings."""

from typing import Literal

from ordinate.dialects.base import Loss
from ordinate.results.base import Record, Version
from ordinate.results.diff import Change, Proof

COMMAND = "ordinate translate FILE --to gguf --from MODEL --out COPY --format json"
BEFORE = {"written", "losses", "warnings", "changes", "proof"}


class GgufCopy(Record, frozen=True):
    """A copy of a GGUF file that was given another model's positional settings.

    Args:
        schema_version: of this schema
        kind: "gguf-copy"
        written: whether the copy was written
        losses: what llama.cpp does not heed
        warnings: what to beware of, a sentence each
        changes: what the copy has otherwise than its source; null where none was written
        proof: the copy, read back, against the settings that it was given; null where none was written
    """

    schema_version: Version
    kind: Literal["gguf-copy"]
    written: bool
    losses: list[Loss]
    warnings: list[str]
    changes: list[Change] | None
    proof: list[Proof] | None


FORM = GgufCopy
