"""`ordinate report`: what commands found, as something to look at."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ordinate.cli.out_file import Out


def command(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULT...",
            help="Files that commands wrote as JSON, one or several together, or folders of runs of `ordinate "
            "validate`, whole or not.",
            show_default=False,
        ),
    ],
    format: Annotated[
        Literal["text", "json", "markdown", "md", "html"] | None,
        typer.Option(help="What to write. Default: as --out ends (.html, .md, .json), else text.", show_default=False),
    ] = None,
    out: Out = None,
) -> int:
    """Render what describe, diff, check, translate, prove, audit, validate, bench and plan found.

    The HTML is one file without script that loads nothing; several results stand on one page, under a list of what was
    found. Of a run of `ordinate validate` the headline is the effective length of the task that reaches least among
    those above their floor, from the samples that the run has so far.
    """
    from ordinate.cli.out_file import form_of, put

    form = form_of(format, out, ("text", "json", "markdown", "html"))
    put(_written(results, {"md": "markdown"}.get(form, form)).rstrip("\n"), out)
    return 0


def _written(paths: Sequence[Path], form: str) -> str:
    """Results in one of the four forms."""
    import json

    from ordinate.report import render
    from ordinate.report.document import flat, together
    from ordinate.report.page import page_of

    found = flat([_read(path) for path in paths])
    if form == "html":
        return render(*found)
    if len(found) == 1 and found[0]["kind"] == "validate":
        from ordinate.validate.claims import card
        from ordinate.validate.written import WRITERS

        return WRITERS[form](card(found[0]))
    if form == "json":
        shown = found[0] if len(found) == 1 else together(found)
        return json.dumps(shown, indent=2, allow_nan=False, ensure_ascii=False)
    from ordinate.report.markdown import to_markdown
    from ordinate.report.plain_text import to_text

    pages = [page_of(result) for result in found]
    return to_markdown(pages) if form == "markdown" else to_text(pages)


def _read(path: Path) -> dict[str, Any]:
    """A result from a file, or from the folder of a run."""
    import json
    import os

    from ordinate.results import read_file

    if not os.path.isdir(path):  # Path.is_dir raises where a name is too long
        return read_file(path)
    from ordinate.validate.cards import card_of

    return json.loads(card_of(path).to_json())
