"""`ordinate bench`: how fast the operations are on this machine."""

from typing import Annotated, Any, Literal

import typer


def command(
    names: Annotated[
        list[str] | None, typer.Argument(help="Benchmarks by the beginnings of their names. Default: a short choice.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="How often each contender runs.")] = 31,
    format: Annotated[Literal["text", "json"], typer.Option(help="What to print.")] = "text",
) -> int:
    """Time rotate and attend on this machine against the limit of memory, PyTorch and transformers.

    One thread; rivals take turns in one process; a figure is the median over the rounds with its 95 % interval. What is
    not accurate is not timed, and the exit code is 1.
    """
    import json

    from ordinate.extras import need

    need("torch", "torch")
    from ordinate.bench import CASES, Inaccurate, asked, machine, measure, short
    from ordinate.schema import beginning

    here, measured, wrong = machine(), [], []
    if format == "text":
        typer.echo(f"{here['processor']}, {here['instruction set']}, malloc {here['malloc']}, one thread")
    for name in asked(names, list(CASES)) if names else short():
        try:
            result = {"name": name, **measure(CASES[name](), rounds)}
        except Inaccurate as error:
            wrong.append(str(error))
            typer.echo(str(error), err=True)
            continue
        measured.append(result)
        if format == "text":
            typer.echo(f"\n{name}: {result['case']}")
            for figure in result["figures"]:
                typer.echo(f"  {_line(figure)}")
    if format == "json":
        typer.echo(
            json.dumps(
                {**beginning("bench"), "machine": here, "measurements": measured, "not timed": wrong},
                indent=2,
                allow_nan=False,
            )
        )
    return int(bool(wrong))


def _line(figure: dict[str, Any]) -> str:
    unit = {"x": "×", "us": " µs"}[figure["unit"]]
    low, high = figure["interval"]
    text = f"{figure['median']:.3g}{unit} ({low:.3g} to {high:.3g})  {figure['name']}"
    for word in ("at most", "at least"):
        if word in figure:
            text += f"; bar {word} {figure[word]:g}: {figure['bar']}"
    return text
