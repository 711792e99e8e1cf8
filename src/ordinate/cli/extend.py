"""`ordinate extend`: a complete model directory with a longer window."""

import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from ordinate.cli.amounts import tokens_of


def command(
    source: Annotated[str, typer.Argument(help="A Hugging Face directory, a GGUF file, or a model's name.")],
    to: Annotated[
        int,
        typer.Option(
            parser=tokens_of,
            metavar="TOKENS",
            help="The window wanted, in tokens; longer than the one the model declares.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The directory to be made. It must not exist.")],
    method: Annotated[
        str,
        typer.Option(
            help="linear, ntk, dynamic_ntk, yarn, llama3, longrope, abf, or auto, which chooses and says why."
        ),
    ] = "auto",
    factor: Annotated[
        float | None, typer.Option(help="The method's factor, where --to does not fix it (ntk, llama3).")
    ] = None,
    base: Annotated[float | None, typer.Option(help="abf: the new base.")] = None,
    beta_fast: Annotated[float | None, typer.Option(help="yarn: turns above which a pair is kept.")] = None,
    beta_slow: Annotated[float | None, typer.Option(help="yarn: turns below which a pair is divided.")] = None,
    attention_factor: Annotated[float | None, typer.Option(help="yarn, longrope: the magnitude.")] = None,
    low_freq_factor: Annotated[float | None, typer.Option(help="llama3: turns below which a pair is divided.")] = None,
    high_freq_factor: Annotated[float | None, typer.Option(help="llama3: turns above which a pair is kept.")] = None,
    factors: Annotated[
        Path | None, typer.Option(help="longrope: a JSON file with short_factor and long_factor, one divisor a pair.")
    ] = None,
    format: Annotated[Literal["text", "json"], typer.Option(help="What to print.")] = "text",
) -> None:
    """Stretch a model's window and write the result as a complete model directory.

    Weights are copied, not trained on. The result holds safetensors, tokenizer, config.json in the spelling of
    transformers v5 and a model card, and loads with plain transformers. Its frequencies are read back and compared
    with those intended before it appears.
    """
    from ordinate.cli.progress import progress
    from ordinate.extras import need
    from ordinate.weights.directory import check_directory

    check_directory(out, "--out", new=True)
    need("transformers", "torch", "transformers", "safetensors", "tokenizers")
    from ordinate.extend import extend
    from ordinate.extend.methods import read_divisors

    divisors = {} if factors is None else read_divisors(factors)
    with progress() as report:
        done = extend(
            source,
            to=to,
            method=method,
            out=out,
            factor=factor,
            base=base,
            beta_fast=beta_fast,
            beta_slow=beta_slow,
            attention_factor=attention_factor,
            low_freq_factor=low_freq_factor,
            high_freq_factor=high_freq_factor,
            short_factor=divisors.get("short_factor"),
            long_factor=divisors.get("long_factor"),
            progress=report,
        )
    if format == "json":
        import msgspec

        typer.echo(msgspec.json.format(msgspec.json.encode(done), indent=2).decode())
        return
    by = f" by a factor of {done.factor:g}" if done.factor is not None else ""
    typer.echo(f"{done.source}: {done.trained:,} tokens stretched to {done.declared:,}{by}, method {done.method}")
    typer.echo(f"  why        {done.why}")
    typer.echo(f"  settings   {', '.join(f'{key} {value}' for key, value in done.parameters.items())}")
    typer.echo(f"  written    {done.directory} ({', '.join(done.files)})")
    typer.echo(f"  next       {shlex.join(['ordinate', 'prove', source, str(done.directory)])}")
