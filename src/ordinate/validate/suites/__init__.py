"""What is asked together: a suite a file."""

from ordinate.registry import lookup
from ordinate.registry import names as registered
from ordinate.validate.suites._entries import Entry
from ordinate.validate.suites.base import Plan, Scope, Suite

__all__ = ["Entry", "Plan", "Scope", "Suite", "find", "names"]


def names() -> list[str]:
    """The names of the suites, in alphabetical order.

    >>> names()
    ['publication', 'smoke', 'standard']
    """
    return registered(__name__)


def find(name: str) -> Suite:
    """The suite of a name.

    Raises:
        InputError: there is none
    """
    return lookup(__name__, name, "suite")()
