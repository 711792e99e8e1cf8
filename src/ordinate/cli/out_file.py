"""The file that --out names: looked at before the work is done, then written in the form that its name says."""

import os
from pathlib import Path
from typing import Annotated

import typer

from ordinate.errors import InputError

Out = Annotated[Path | None, typer.Option(help="A file for what would be printed.")]
"""The option, alike for every command that has it for nothing else."""

ENDINGS = {
    ".htm": "html",
    ".html": "html",
    ".json": "json",
    ".markdown": "markdown",
    ".md": "markdown",
    ".sarif": "sarif",
    ".svg": "svg",
}


def check_out(out: Path | None) -> None:
    """Raise `InputError` where a file cannot be written; None is none to write.

    Args:
        out: what --out was given
    """
    if out is None:
        return
    if not out.absolute().parent.is_dir():
        raise InputError(f"--out must lie in a directory that exists, got {out}")
    if out.is_dir():
        raise InputError(f"--out must be a file, got the directory {out}")
    if not os.access(out if out.exists() else out.absolute().parent, os.W_OK):
        raise InputError(f"--out must be a file that can be written, got {out}")


def form_of(format: str | None, out: Path | None, forms: tuple[str, ...]) -> str:
    """What is written: as asked for, else as the file's name ends, else text.

    Args:
        format: what --format was given; None where nothing was
        out: what --out was given, which is checked as well
        forms: what the command writes

    Raises:
        InputError: the file cannot be written, or its name ends as a form that the command does not write
    """
    check_out(out)
    if format is not None:
        return format
    found = "text" if out is None else ENDINGS.get(out.suffix.lower(), "text")
    if found not in forms:
        more = "; `ordinate report` makes it of the JSON" if found in ("html", "markdown") else ""
        raise InputError(f"--out {out} would be {found}, got a command that writes {', '.join(forms)}{more}")
    return found


def put(text: str, out: Path | None) -> None:
    """Print a text, or write it into a file and say so."""
    if out is None:
        typer.echo(text)
        return
    out.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    typer.echo(f"written: {out}")
