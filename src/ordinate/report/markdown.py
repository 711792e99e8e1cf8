"""Pages as Markdown."""

from collections.abc import Sequence

from ordinate.report.blocks import Block, Code, Paragraph, Points, parts
from ordinate.report.page import Page
from ordinate.validate.written import marked, table


def to_markdown(pages: Sequence[Page]) -> str:
    """Pages one after another; where they are several, under one title with a list of what was found.

    What a model or a file said is shown as it is: it can be neither markup nor a link.
    """
    if len(pages) == 1:
        return "\n\n".join(_page(pages[0], 1)) + "\n"
    found = [f"# {len(pages)} results"]
    found.append(
        "\n".join(f"{number}. {marked(page.title)}: {marked(page.summary)}" for number, page in enumerate(pages, 1))
    )
    return "\n\n".join([*found, *(line for page in pages for line in _page(page, 2))]) + "\n"


def _page(page: Page, level: int) -> list[str]:
    found = [f"{'#' * level} {marked(page.title)}", *map(marked, page.lead)]
    for part in parts(page):
        found += [f"{'#' * (level + 1)} {marked(part.title)}", *(_block(block) for block in part.blocks)]
    return found


def _block(block: Block) -> str:
    if isinstance(block, Paragraph):
        return f"**{marked(block.text)}**" if block.look == "headline" else marked(block.text)
    if isinstance(block, Points):
        return "\n".join(f"- {marked(point)}" for point in block.points)
    if isinstance(block, Code):
        # By indentation, so that no fence in the text can end it.
        return "\n".join(f"    {_printable(line)}" for line in block.text.splitlines())
    return f"{marked(block.caption)}:\n\n{table(block.header, block.rows)}"


def _printable(line: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
