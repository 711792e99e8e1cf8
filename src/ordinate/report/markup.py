"""HTML and SVG built so that text is always escaped: only `Markup` passes as it is."""

import html
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Self


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()

    @classmethod
    def join_all(cls, parts: Iterable[str], separator: str = "") -> Self:
        """Join parts, each escaped unless it is markup."""
        return cls(separator.join(escape(part) for part in parts))


def escape(text: str) -> Markup:
    """Text as HTML, quotes included; markup stays as it is.

    >>> escape('<b>"&"</b>')
    '&lt;b&gt;&quot;&amp;&quot;&lt;/b&gt;'
    """
    return text if isinstance(text, Markup) else Markup(html.escape(text, quote=True))


def breakable(name: str) -> Markup:
    """A path or a name that may be broken behind its dots, slashes and underscores.

    >>> breakable("groups.layers")
    'groups.<wbr>layers'
    """
    return Markup(re.sub(r"(?<=[._/])(?=[^\s._/])", "<wbr>", escape(name)))


# Elements of HTML that have no end tag.
_VOID = frozenset({"meta", "br", "hr", "col", "wbr"})


def element(tag: str, *children: str, **attributes: str | float | None) -> Markup:
    """An element of HTML or SVG.

    Args:
        tag: its name
        children: text, which is escaped, or markup
        attributes: by name, with "_" for "-" and a "_" behind Python's own words; None leaves one out

    >>> element("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    pairs = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(f"{value:g}" if isinstance(value, float) else str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in _VOID:
        return Markup(f"<{tag}{pairs}>")
    return Markup(f"<{tag}{pairs}>{Markup.join_all(children)}</{tag}>")


def data_block(name: str, value: Any) -> Markup:
    """A value as JSON in a script element that is data, not program.

    Every "<", ">" and "&" is written as JSON's escape, so that no text can end the element or open a comment in it,
    and so are the two line separators that JavaScript once took for ends of lines.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return element("script", Markup(text), type="application/json", id=name)


NARROW = 44
"""About how many characters stand beside each other on a page of 360 pixels."""


def table(caption: str, header: Iterable[str], rows: Iterable[Iterable[str]], *, heads: int = 1) -> Markup:
    """A table that scrolls by itself where it is wider than the page.

    One that a narrow page has no room for is shown there row by row, each cell behind the word of its column.

    Args:
        caption: what it shows
        header: a word a column
        rows: cells; the first `heads` of each name the row
    """
    words, cells = list(header), [list(row) for row in rows]
    stacks = _stacks(words, cells)

    # Cells that are laid out as blocks are none to some browsers: their roles say what they are.
    def part(tag: str, *inside: str, role: str, **attributes: str | None) -> Markup:
        return element(tag, *inside, role=role if stacks else None, **attributes)

    def cell(column: int, text: str) -> Markup:
        word = words[column] if stacks else None
        if column < heads:
            return part("th", text, role="rowheader", scope="row", data_label=word)
        return part("td", text, role="cell", data_label=word)

    head = part("tr", *[part("th", word, role="columnheader", scope="col") for word in words], role="row")
    body = [part("tr", *[cell(i, text) for i, text in enumerate(row)], role="row") for row in cells]
    whole = part(
        "table",
        element("caption", caption),
        part("thead", head, role="rowgroup"),
        part("tbody", *body, role="rowgroup"),
        role="table",
        class_="stack" if stacks else None,
    )
    return scrolling(caption, whole)


def _stacks(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a table of more than a name and a value has no room on a narrow page."""
    shown = [[len(_TAG.sub("", cell)) for cell in row] for row in (header, *rows)]
    return len(header) > 2 and sum(max(column) + 2 for column in zip(*shown, strict=True)) > NARROW


_TAG = re.compile("<[^>]*>")


def scrolling(name: str, table: Markup) -> Markup:
    """A table that scrolls by itself, with the keys too, where it is wider than the page."""
    return element("div", table, class_="scroll", role="group", aria_label=name, tabindex="0")


def facts(caption: str, rows: Iterable[tuple[str, str | None]]) -> Markup:
    """A table of facts by name, whose cells break their lines; what is None is left out."""
    shown = [[name, fact] for name, fact in rows if fact is not None]
    return prose(table(caption, ["Fact", "Value"], shown))


def prose(table: Markup) -> Markup:
    """A table whose cells break their lines."""
    return element("div", table, class_="prose")


def listing(points: Iterable[str]) -> Markup:
    """A list of points."""
    return element("ul", *[element("li", point) for point in points])
