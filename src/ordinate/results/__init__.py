"""Every command's JSON result as one published, versioned schema: a kind of result a file, found by its name."""

from ordinate.results.kinds import Kind, find, kinds
from ordinate.results.publication import schema
from ordinate.results.reading import read, read_file
from ordinate.schema import SCHEMA_VERSION

__all__ = ["SCHEMA_VERSION", "Kind", "find", "kinds", "read", "read_file", "schema"]
