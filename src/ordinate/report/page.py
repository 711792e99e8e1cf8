"""The page: a head that forbids all loading, the sections of one kind of result, and its data."""

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from ordinate.errors import InputError, got
from ordinate.registry import suggestion
from ordinate.report.markup import Markup, data_block, element


@dataclass(frozen=True)
class Section:
    """A part of a page under its own heading; `name` is its id, `class_` its look."""

    name: str
    title: str
    body: Sequence[str]
    class_: str | None = None


@dataclass(frozen=True)
class Page:
    """What one kind of result puts on its page."""

    title: str
    lead: Sequence[str]
    sections: Sequence[Section]


def kinds() -> dict[str, Callable[[Mapping[str, Any]], Page]]:
    """What reads each kind of result: a function from its JSON to a page."""
    from ordinate.report import card, proof

    return {"prove": proof.page, "validate": card.page}


def render(result: Mapping[str, Any]) -> str:
    """One self-contained HTML file.

    It holds no script and loads nothing: its style, its charts and the result itself are in it. A content security
    policy forbids everything else, whatever a model's name or a text's title may hold.

    Args:
        result: what a command printed as JSON; its "kind" says which page is made

    Returns:
        HTML, to be written as UTF-8

    Raises:
        InputError: an unknown kind, or a result that is not of its kind's form
    """
    if not isinstance(result, Mapping) or "kind" not in result:
        raise InputError(f"a result must be an object with a kind, got {got(result)}")
    readers, kind = kinds(), result["kind"]
    if not isinstance(kind, str) or kind not in readers:
        raise InputError(f"unknown kind of result {got(kind)}{suggestion(kind, sorted(readers))}")
    return whole(readers[kind](result), result)


def whole(page: Page, data: Mapping[str, Any]) -> str:
    """A page as HTML, with its data."""
    # An end tag cannot stand in it, since it is our own file.
    style = files("ordinate.report").joinpath("style.css").read_text(encoding="utf-8")
    allowed = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element(
            "meta",
            http_equiv="Content-Security-Policy",
            content=f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'",
        ),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", page.title),
        element("style", Markup(style)),
    )
    body = element(
        "body",
        element("header", element("h1", page.title), *[element("p", line) for line in page.lead]),
        element("main", *[_section(section) for section in page.sections]),
        data_block("data", data),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _section(section: Section) -> Markup:
    title = f"{section.name}-title"
    return element(
        "section",
        element("h2", section.title, id=title),
        *section.body,
        id=section.name,
        class_=section.class_,
        aria_labelledby=title,
    )
