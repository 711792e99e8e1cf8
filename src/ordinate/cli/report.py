"""`ordinate report`: what a validation claims."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def command(
    run: Annotated[Path, typer.Argument(help="The folder of a run of `ordinate validate`, whole or not.")],
    format: Annotated[Literal["text", "json", "markdown", "html"], typer.Option(help="What to write.")] = "text",
    out: Annotated[Path | None, typer.Option(help="A file for what would be printed.")] = None,
) -> int:
    """Say what a validation claims, from the samples that its run has so far.

    The headline is the effective length of the task that reaches least among those above their floor. The HTML is one
    file without script that loads nothing.
    """
    from ordinate.errors import InputError
    from ordinate.validate.cards import card_of
    from ordinate.validate.written import WRITERS

    if out is not None and not out.absolute().parent.is_dir():
        raise InputError(f"--out must lie in a directory that exists, got {out}")
    card = card_of(run)
    if format == "html":
        from ordinate.report.card import to_html

        text = to_html(card)
    else:
        text = WRITERS[format](card)
    if out is None:
        typer.echo(text.rstrip("\n"))
    else:
        out.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    return 0
