"""`ordinate convert`: q and k weights in the other pair layout, and which layout they are in."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from ordinate.cli.progress import Report, progress


def command(
    source: Annotated[
        str,
        typer.Argument(
            help="A Hugging Face directory, a safetensors file with config.json beside it, an adapter, or the "
            "name of a model."
        ),
    ],
    out: Annotated[Path | None, typer.Argument(help="The directory to be made. It must not exist.")] = None,
    pairing: Annotated[Literal["half", "interleaved"] | None, typer.Option(help="The layout wanted.")] = None,
    base: Annotated[Path | None, typer.Option(help="Of an adapter: the directory or config.json of its model.")] = None,
    detect: Annotated[
        bool, typer.Option("--detect", help="Run the model and say which layout its weights are in; write nothing.")
    ] = False,
    format: Annotated[Literal["text", "json"], typer.Option(help="What to print.")] = "text",
) -> int:
    """Rewrite q and k weights between pair layouts, or detect the layout they are in.

    half pairs channel i of a head with i + half its width (Llama in Hugging Face), interleaved 2i with 2i + 1 (Llama
    in Meta's files and in GGUF). The source is never changed.
    """
    from ordinate.errors import InputError

    if detect:
        if out is not None or pairing is not None or base is not None:
            raise InputError("--detect writes nothing: it goes with neither OUT nor --pairing nor --base")
        return _detect(source, format)
    if out is None or pairing is None:
        raise InputError("ordinate convert needs IN, OUT and --pairing half or interleaved, or IN and --detect")
    from ordinate.weights.convert import convert
    from ordinate.weights.directory import check_directory

    check_directory(out, "OUT", new=True)
    with progress() as report:
        done = convert(_own_files(source, report), out, pairing, base=base, progress=report)
    done = replace(done, source=source)
    if format == "json":
        _print_json(done)
        return 0
    typer.echo(f"{done.source}: {done.before} to {done.pairing}, model_type {done.model_type}")
    typer.echo(f"  reordered  {done.moved} tensors of {len(done.layers)} layers; {done.stayed} copied as they are")
    if done.still:
        typer.echo(f"  stay       layers without rotation: {', '.join(map(str, done.still))}")
    if done.towers:
        typer.echo(f"  stay       {done.towers} tensors of attention in other towers")
    typer.echo(f"  written    {done.directory} ({_listed(done.files)})")
    if done.left_out:
        typer.echo(f"  left out   {_listed(done.left_out)}")
    if done.turned != done.pairing:
        typer.echo(
            f"  note       transformers turns {done.turned} pairs for {done.model_type}: these files are for an engine "
            f"that turns {done.pairing} pairs"
        )
    typer.echo(f"  next       {shlex.join(['ordinate', 'convert', '--detect', done.directory])}")
    return 0


def _own_files(source: str, report: Report | None) -> Path:
    """The directory or file itself, or the Hugging Face copy of the model with this name."""
    if os.path.exists(source):
        return Path(source)
    from ordinate.transformers.convert import converted

    return converted(source, progress=report)


def _detect(source: str, format: str) -> int:
    from ordinate.cli.dispatch import FINDINGS, OK
    from ordinate.extras import need

    need("transformers", "torch", "transformers", "safetensors", "tokenizers")
    from ordinate.audit import detect

    with progress() as report:
        done = detect(source, progress=report)
    code = FINDINGS if done.agrees is False else OK
    if format == "json":
        _print_json(done)
        return code
    typer.echo(
        f"{done.source}: {done.found}" + ("" if done.agrees is not False else f", and its files say {done.said}")
    )
    typer.echo(f"  why         {done.why}")
    for name, loss in (("half", done.half), ("interleaved", done.interleaved)):
        typer.echo(f"  {name:<12}loss {loss.mean:.4f} nat/token if the weights are {name}")
    apart = "" if done.standard_errors is None else f", {abs(done.standard_errors):.1f} standard errors from 0"
    typer.echo(f"  apart       {done.difference.mean:+.4f} nat/token, interleaved - half{apart}")
    typer.echo(f"  by chance   loss {done.frequencies:.4f} from the frequencies of the tokens alone")
    first, last = done.positions
    typer.echo(f"  read        {done.difference.tokens} tokens of {done.text} at positions {first} to {last}")
    typer.echo(f"  layouts     its files say {done.said}; transformers turns {done.turned} for {done.model_type}")
    return code


def _listed(names: Sequence[str]) -> str:
    # A file's name may hold anything, and nothing in it may reach the terminal as a command.
    return ", ".join(name if name.isprintable() else ascii(name) for name in names)


def _print_json(value: object) -> None:
    import msgspec

    typer.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
