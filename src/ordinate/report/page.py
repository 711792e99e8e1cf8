"""What stands on the page of one result: a title, a lead, and sections under their own headings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ordinate.results import find


@dataclass(frozen=True)
class Section:
    """A part of a page under its own heading; `name` is its id, `class_` its look."""

    name: str
    title: str
    body: Sequence[str]
    class_: str | None = None


@dataclass(frozen=True)
class Page:
    """What one kind of result puts on its page.

    Args:
        title: of the page
        lead: sentences under it
        sections: in order
        summary: what was found, in one sentence, which stands for the page in a list of pages
    """

    title: str
    lead: Sequence[str]
    sections: Sequence[Section]
    summary: str = ""


def page_of(result: Mapping[str, Any]) -> Page:
    """The page of a result, made by the file of `ordinate.report.pages` that has the name of its kind.

    Args:
        result: as `ordinate.results.read` gives it

    Raises:
        InputError: an unknown kind, or several results together, which have a page each
    """
    return import_module(f"ordinate.report.pages.{find(result.get('kind')).module}").page(result)
