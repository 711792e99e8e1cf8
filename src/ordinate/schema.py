"""The version of the one schema that every command's JSON result follows."""

SCHEMA_VERSION = 1
"""Raised when a key of any result changes its meaning or goes; keys may be added without."""


def beginning(kind: str) -> dict[str, object]:
    """How a result begins: the version of the schema, and which kind of result it is.

    >>> beginning("describe")
    {'schema_version': 1, 'kind': 'describe'}
    """
    return {"schema_version": SCHEMA_VERSION, "kind": kind}
