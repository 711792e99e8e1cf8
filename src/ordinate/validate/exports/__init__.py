"""The same prompts for other evaluation tools, each with documents, task files and a scorer: a format a file."""

from ordinate.registry import names as registered
from ordinate.validate.exports._documents import documents
from ordinate.validate.exports._parts import parts
from ordinate.validate.exports._writing import export
from ordinate.validate.exports.base import Export, Format, Part, find

__all__ = ["Export", "Format", "Part", "documents", "export", "find", "names", "parts"]


def names() -> list[str]:
    """The names of the formats, in alphabetical order.

    >>> names()
    ['inspect_ai', 'lm_eval']
    """
    return registered(__name__)
