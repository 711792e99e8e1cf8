"""What fills a long text around the records: a filler a file, found by name."""

from pathlib import Path

from ordinate.errors import InputError
from ordinate.registry import lookup
from ordinate.registry import names as registered
from ordinate.validate.fillers.base import Filler

__all__ = ["Filler", "find", "named", "names"]


def names() -> list[str]:
    """The names of the fillers, in alphabetical order.

    >>> names()
    ['file', 'generated', 'noise', 'prose', 'records']
    """
    return registered(__name__)


def find(name: str, *arguments: object) -> Filler:
    """The filler of this name; `file` takes a path as its argument.

    Raises:
        InputError: no filler has this name
    """
    return lookup(__name__, name, "filler")(*arguments)


def named(name: str) -> Filler:
    """The filler of a name that needs no argument, or of a text file's path.

    Raises:
        InputError: neither
    """
    if name != "file" and name in names():
        return find(name)
    if not Path(name).is_file():
        known = ", ".join(one for one in names() if one != "file")
        raise InputError(f"filler must be one of {known}, or a text file, got {name!r}")
    return find("file", name)
