"""Pages as text for a terminal."""

import textwrap
from collections.abc import Iterator, Sequence

from ordinate.report.blocks import Block, Code, Grid, Paragraph, Points, parts
from ordinate.report.page import Page
from ordinate.validate.written import WIDTH, columns, plain


def to_text(pages: Sequence[Page]) -> str:
    """Pages one after another; what a model or a file said cannot reach the terminal as a command."""
    found = []
    if len(pages) > 1:
        found += [f"{len(pages)} results", ""]
        for number, page in enumerate(pages, 1):
            found += _wrapped(f"{number:>3}  {page.title}: {page.summary}", "     ")
        found.append("")
    for page in pages:
        found += [*_page(page), ""]
    return "\n".join(line.rstrip() for line in found).rstrip("\n") + "\n"


def _page(page: Page) -> Iterator[str]:
    title = plain(page.title)
    yield from (title, "=" * len(title))
    for line in page.lead:
        yield from _wrapped(line)
    for part in parts(page):
        yield from ("", plain(part.title), "-" * len(plain(part.title)))
        for block in part.blocks:
            yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Paragraph):
        yield from _wrapped(block.text)
    elif isinstance(block, Points):
        for point in block.points:
            yield from _wrapped(f"- {point}", "  ")
    elif isinstance(block, Code):
        yield from (f"    {plain(line)}" for line in block.text.splitlines())
    else:
        yield from _table(block)


def _table(grid: Grid) -> Iterator[str]:
    yield f"{plain(grid.caption)}:"
    lines = columns(grid.header, grid.rows)
    if max(map(len, lines)) <= WIDTH:
        yield from (f"  {line}" for line in lines)
        return
    # Too wide for a terminal: each row as a paragraph of its own.
    for first, *rest in grid.rows:
        # The one other column of a name and what it is needs no name itself.
        names = [f"{name}: " for name in grid.header[1:]] if len(grid.header) > 2 else [""]
        said = "; ".join(f"{name}{cell}" for name, cell in zip(names, rest, strict=True) if cell)
        yield from _wrapped(f"  {first}: {said}" if said else f"  {first}", "      ")


def _wrapped(text: str, indent: str = "") -> list[str]:
    start = text[: len(text) - len(text.lstrip())]
    return textwrap.wrap(plain(text), WIDTH, initial_indent=start, subsequent_indent=indent)
