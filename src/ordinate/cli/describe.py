"""`ordinate describe`: what a model does with position."""

from typing import Annotated, Literal

import typer

from ordinate.cli.amounts import tokens_of
from ordinate.cli.out_file import Out

SOURCES = {"json": "always has them", "svg": "has no room for them"}


def command(
    source: Annotated[
        str,
        typer.Argument(help="A Hugging Face directory or config.json, a GGUF file, a params.json, or a model's name."),
    ],
    format: Annotated[
        Literal["text", "json", "svg"] | None,
        typer.Option(help="What to write. Default: as --out ends, else text.", show_default=False),
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(
            parser=tokens_of,
            metavar="TOKENS",
            help="Tokens seen so far, for methods that depend on it. Default: as at construction.",
        ),
    ] = None,
    sources: Annotated[
        bool, typer.Option("--sources", help="Say where each value was read (JSON always does).")
    ] = False,
    out: Out = None,
) -> None:
    """Say what a model does with position.

    Reads the files alone: no weights are loaded, nothing in them is executed, nothing is downloaded.
    """
    from ordinate.cli.out_file import form_of, put
    from ordinate.dialects import read
    from ordinate.errors import InputError
    from ordinate.scaling.base import checked_length

    form = form_of(format, out, ("text", "json", "svg"))
    if sources and form != "text":
        raise InputError(f"--sources belongs to the text; --format {form} {SOURCES[form]}")
    spec, length = read(source), checked_length(length)
    if form == "json":
        import json

        from ordinate.describe import to_dict

        text = json.dumps(to_dict(spec, length), indent=2, allow_nan=False)
    elif form == "svg":
        from ordinate.describe import to_svg

        text = to_svg(spec, length)
    else:
        from ordinate.describe import to_text

        text = to_text(spec, length, sources=sources)
    put(text, out)
