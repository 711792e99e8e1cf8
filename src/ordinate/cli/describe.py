"""`ordinate describe`: what a model does with position."""

from pathlib import Path
from typing import Annotated, Literal

import typer

SOURCES = {"json": "always has them", "svg": "has no room for them"}


def command(
    source: Annotated[
        str,
        typer.Argument(help="A Hugging Face directory or config.json, a GGUF file, a params.json, or a model's name."),
    ],
    format: Annotated[Literal["text", "json", "svg"], typer.Option(help="What to print.")] = "text",
    length: Annotated[
        int | None,
        typer.Option(help="Tokens seen so far, for methods that depend on it. Default: as at construction."),
    ] = None,
    sources: Annotated[
        bool, typer.Option("--sources", help="Say where each value was read (JSON always does).")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of stdout.")] = None,
) -> None:
    """Say what a model does with position.

    Reads the files alone: no weights are loaded, nothing in them is executed, nothing is downloaded.
    """
    from ordinate.cli.out_file import check_out
    from ordinate.dialects import read
    from ordinate.errors import InputError
    from ordinate.scaling.base import checked_length

    if sources and format != "text":
        raise InputError(f"--sources belongs to the text; --format {format} {SOURCES[format]}")
    check_out(out)
    spec, length = read(source), checked_length(length)
    if format == "json":
        import json

        from ordinate.describe import to_dict

        text = json.dumps(to_dict(spec, length), indent=2, allow_nan=False)
    elif format == "svg":
        from ordinate.describe import to_svg

        text = to_svg(spec, length)
    else:
        from ordinate.describe import to_text

        text = to_text(spec, length, sources=sources)
    if out is None:
        typer.echo(text)
    else:
        out.write_text(text + "\n", encoding="utf-8")
