"""One self-contained HTML file: a head that forbids all loading, the pages of one or more results, and the data."""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from ordinate.errors import InputError
from ordinate.report.markup import Markup, data_block, element
from ordinate.report.page import Page, Section, page_of
from ordinate.results import read
from ordinate.schema import beginning


def render(*results: Mapping[str, Any]) -> str:
    """One self-contained HTML file.

    It holds no script and loads nothing: its style, its charts and the results themselves are in it. A content
    security policy forbids everything else, whatever a model's name or a text's title may hold.

    Args:
        results: what commands printed as JSON; the "kind" of each says which page is made

    Returns:
        HTML, to be written as UTF-8

    Raises:
        InputError: nothing, an unknown kind, or a result that is not of its kind's form
    """
    found = flat(results)
    if len(found) == 1:
        return _one(page_of(found[0]), found[0])
    return _several([page_of(result) for result in found], found)


def flat(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Results as they are read, those that stand together one by one.

    Raises:
        InputError: no result, or none in what holds several
    """
    found = []
    for result in map(read, results):
        found += flat(result["results"]) if result["kind"] == "report" else [result]
    if not found:
        raise InputError("a report needs at least one result, got none")
    return found


def together(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Several results as one."""
    return {**beginning("report"), "results": list(found)}


def _one(page: Page, data: Mapping[str, Any]) -> str:
    links = [element("li", _link(section.name, section.title)) for section in page.sections]
    body = [
        element(
            "header",
            element("h1", page.title),
            *[element("p", line) for line in page.lead],
            element("nav", element("ul", *links, class_="contents"), aria_label="On this page"),
        ),
        element("main", *[_section(section, "h2", named=True) for section in page.sections], id="main"),
    ]
    return _whole(page.title, body, data)


def _several(pages: Sequence[Page], found: Sequence[Mapping[str, Any]]) -> str:
    title = f"{len(pages)} results"
    kinds = Counter(str(result["kind"]) for result in found)
    said = ", ".join(f"{number} × {kind}" for kind, number in sorted(kinds.items()))
    rows, articles = [], []
    for number, (page, result) in enumerate(zip(pages, found, strict=True), 1):
        name = f"result-{number}"
        kind = element("span", str(result["kind"]), class_="kind")
        rows.append(element("li", _link(name, page.title), " ", kind, element("p", page.summary, class_="note")))
        inside = element(
            "article",
            element("h2", page.title, id="title"),
            *[element("p", line, class_="lead") for line in page.lead],
            *[_section(section, "h3", named=False) for section in page.sections],
            element("p", _link("contents", "Back to the contents"), class_="back"),
            aria_labelledby="title",
        )
        article = element("div", _within(inside, name), id=name, class_="result", tabindex="-1")
        articles.append(article)
    body = [
        element("header", element("h1", title), element("p", f"Together on one page: {said}.")),
        element(
            "nav",
            element("h2", "Contents"),
            element("ol", *rows, class_="results"),
            id="contents",
            aria_label="Results",
        ),
        element("main", *articles, id="main"),
    ]
    return _whole(title, body, together(found))


def _within(markup: Markup, prefix: str) -> Markup:
    """The same with ids of its own. In text and in values every quote is escaped, so that only attributes match."""

    def renamed(match: re.Match[str]) -> str:
        names = " ".join(f"{prefix}-{name}" for name in match[2].split())
        return f'{match[1]}"{names}"'

    return Markup(re.sub(r'( (?:id|aria-labelledby)=)"([^"]*)"', renamed, markup))


def _whole(title: str, body: Sequence[str], data: Mapping[str, Any]) -> str:
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
        element("title", title),
        element("style", Markup(style)),
    )
    skip = element("a", "To the content", href="#main", class_="skip")
    inside = element("body", skip, *body, data_block("data", data))
    return f"<!doctype html>\n{element('html', head, inside, lang='en')}\n"


def _link(name: str, words: str) -> Markup:
    return element("a", words, href=f"#{name}")


def _section(section: Section, heading: str, *, named: bool) -> Markup:
    """A section; where it is named it is a landmark of the page, which those of many results would be too many of."""
    title = f"{section.name}-title"
    return element(
        "section",
        element(heading, section.title, id=title),
        *section.body,
        id=section.name,
        class_=section.class_,
        aria_labelledby=title if named else None,
    )
