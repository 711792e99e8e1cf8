"""What fills a long text around the records: a filler a file, found by name."""

from ordinate.registry import lookup
from ordinate.registry import names as registered
from ordinate.validate.fillers.base import Filler

__all__ = ["Filler", "find", "names"]


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
