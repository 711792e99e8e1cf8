"""`ordinate prove`: original against extended, side by side on real text."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ordinate.cli.amounts import tokens_of


def command(
    original: Annotated[str, typer.Argument(help="A Hugging Face directory, a GGUF file, or a model's name.")],
    extended: Annotated[
        str, typer.Argument(help="The same model with a longer window, as `ordinate extend` writes it.")
    ],
    out: Annotated[
        Path, typer.Option(help="Where report.html and report.json go; those of an earlier run are replaced.")
    ] = Path(),
    length: Annotated[
        int | None,
        typer.Option(
            parser=tokens_of,
            metavar="TOKENS",
            help="Tokens of the long text. Default: 7/4 of the original's window, or the extended one's.",
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Go to the extended window in every part.")] = False,
    text: Annotated[
        str, typer.Option(help="A novel by its name (emma, persuasion, ...) or a UTF-8 text file.")
    ] = "emma",
    seed: Annotated[int, typer.Option(help="Of the passkeys' digits.")] = 0,
    threads: Annotated[int | None, typer.Option(help="For PyTorch. Default: the cores at hand.")] = None,
    float32_angles: Annotated[
        bool, typer.Option("--float32-angles", help="Compute angles in float32, as transformers does.")
    ] = False,
    format: Annotated[Literal["text", "json"], typer.Option(help="What to print.")] = "text",
) -> None:
    """Run a model and its extended copy side by side and report what the window is worth.

    Measures loss by position, the same tokens with growing context, passkeys, and position gaps, and writes
    report.html, one file without network or script, and report.json with the same numbers.
    """
    import json

    from ordinate.cli.progress import progress
    from ordinate.extras import need
    from ordinate.weights.directory import check_directory

    check_directory(out, "--out")
    need("transformers", "torch", "transformers", "safetensors", "tokenizers")
    from ordinate.prove import prove
    from ordinate.report import render

    out.mkdir(parents=True, exist_ok=True)
    with progress() as report:
        result = prove(
            original,
            extended,
            length=length,
            full=full,
            seed=seed,
            text=text,
            threads=threads,
            float32_angles=float32_angles,
            progress=report,
        )
    data = json.dumps(result, indent=2, allow_nan=False)
    (out / "report.json").write_text(data + "\n", encoding="utf-8")
    (out / "report.html").write_text(render(result), encoding="utf-8")
    if format == "json":
        typer.echo(data)
        return
    typer.echo(result["verdict"]["headline"])
    for sentence in result["verdict"]["findings"]:
        typer.echo(f"  {sentence}")
    typer.echo(f"written: {out / 'report.html'}, {out / 'report.json'}")
