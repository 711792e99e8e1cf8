"""What the forms of results are made of."""

from typing import Annotated

import msgspec


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A JSON object with these keys and no others."""


Version = Annotated[int, msgspec.Meta(ge=1, le=1)]
"""The version of the schema that a result follows."""
