"""What a page says without its pictures: paragraphs, lists, tables and code, read off its markup."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

from ordinate.report.page import Page


@dataclass(frozen=True)
class Paragraph:
    """Running text; `look` is the class that the page gives it, or ""."""

    text: str
    look: str = ""


@dataclass(frozen=True)
class Points:
    """A list."""

    points: Sequence[str]


@dataclass(frozen=True)
class Code:
    """Text to be typed, with its lines."""

    text: str


@dataclass
class Grid:
    """A table."""

    caption: str = ""
    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


Block = Paragraph | Points | Code | Grid


@dataclass(frozen=True)
class Part:
    """A section of a page."""

    title: str
    blocks: Sequence[Block]


def parts(page: Page) -> list[Part]:
    """The sections of a page in blocks. Charts are left out: their sentence and their table say the same."""
    found = []
    for section in page.sections:
        reader = _Reader()
        reader.feed("".join(section.body))
        reader.close()
        found.append(Part(section.title, reader.blocks))
    return found


_VOID = frozenset({"br", "hr", "col", "meta", "wbr"})
_WITHOUT = frozenset({"svg", "summary"})
"""Pictures, and the words by which a table is opened."""


class _Reader(HTMLParser):
    """Reads markup of our own, in which every element that is opened is closed."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self.words: list[str] = []
        self.points: list[str] = []
        self.grid = Grid()
        self.look = ""
        # How deep the reader is in what is left out.
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        given = dict(attrs)
        # A legend explains colours, and there are none here.
        left_out = tag in _WITHOUT or given.get("aria-hidden") == "true" or given.get("class") == "legend"
        if self.hidden or left_out:
            self.hidden += 1
            return
        if tag in ("p", "li", "pre", "caption", "th", "td", "figcaption"):
            self.words = []
            self.look = given.get("class") or ""
        elif tag == "ul":
            self.points = []
        elif tag == "table":
            self.grid = Grid()
        elif tag == "tr":
            self.grid.rows.append([])

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        if self.hidden:
            self.hidden -= 1
            return
        text = "".join(self.words)
        line = " ".join(text.split())
        if tag in ("p", "figcaption"):
            self.blocks.append(Paragraph(line, self.look))
        elif tag == "li":
            self.points.append(line)
        elif tag == "ul":
            self.blocks.append(Points(self.points))
        elif tag == "pre":
            self.blocks.append(Code(text))
        elif tag == "caption":
            self.grid.caption = line
        elif tag in ("th", "td"):
            self.grid.rows[-1].append(line)
        elif tag == "thead":
            self.grid.header = self.grid.rows.pop()
        elif tag == "table":
            self.blocks.append(self.grid)

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.words.append(data)
