"""`ordinate plot`: a picture of what position does."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ordinate.cli.amounts import tokens_of


def command(
    kind: Annotated[str, typer.Argument(help="Which picture: `ordinate list plots` names them all.")],
    sources: Annotated[
        list[str],
        typer.Argument(
            help="What it is drawn from, by kind: a model as `ordinate describe` takes it, a scheme with its numbers "
            "(alibi:heads=12), a result's JSON, or the folder of a run of `ordinate validate`."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The file: .svg, .pdf or .png.")],
    to: Annotated[
        int | None, typer.Option(parser=tokens_of, metavar="TOKENS", help="The length wanted, in tokens.")
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(parser=tokens_of, metavar="TOKENS", help="Tokens seen so far, for methods that depend on it."),
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(parser=tokens_of, metavar="TOKENS", help="How many positions or distances are drawn.")
    ] = None,
    positions: Annotated[str | None, typer.Option(help="Positions, with commas.")] = None,
    dimensions: Annotated[str | None, typer.Option(help="Channels, with commas.")] = None,
    pairs: Annotated[str | None, typer.Option(help="Pairs, with commas.")] = None,
    group: Annotated[str | None, typer.Option(help="One layer group of a model.")] = None,
    method: Annotated[str | None, typer.Option(help="A scaling method that reaches --to.")] = None,
    engines: Annotated[str | None, typer.Option(help="Engines, with commas. Default: all.")] = None,
    base: Annotated[float | None, typer.Option(help="A base that comes after keys were cached.")] = None,
    drop: Annotated[
        int | None, typer.Option(parser=tokens_of, metavar="TOKENS", help="Tokens that a shift of the cache drops.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="A task of a validation.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of what is drawn at random.")] = None,
) -> None:
    """Draw a picture of a model, a scheme or a result, and say in words what it shows.

    An option that the kind does not use is refused. The caption is printed, and is in the file too.
    """
    import inspect

    from ordinate.cli.out_file import check_out
    from ordinate.errors import InputError
    from ordinate.plots import facts, source_reader
    from ordinate.plots._canvas import SUFFIXES

    about, draw = facts(kind), source_reader(kind)
    if out.suffix.lower() not in SUFFIXES:
        raise InputError(f"--out must end in {', '.join(SUFFIXES)}, got {out.name}")
    check_out(out)
    if not about.least <= len(sources) <= about.most:
        raise InputError(f"{kind} is drawn from {about.source}, got {len(sources)} of them")
    given: dict[str, Any] = {
        "to": to,
        "length": length,
        "tokens": tokens,
        "positions": _integers("--positions", positions),
        "dimensions": _integers("--dimensions", dimensions),
        "pairs": _integers("--pairs", pairs),
        "group": group,
        "method": method,
        "engines": None if engines is None else [name.strip() for name in engines.split(",")],
        "base": base,
        "drop": drop,
        "task": task,
        "seed": seed,
    }
    options = {name: value for name, value in given.items() if value is not None}
    known = [name for name in inspect.signature(draw).parameters if name in given]
    for name in options:
        if name not in known:
            takes = ", ".join(f"--{one}" for one in known) or "no options but --out"
            raise InputError(f"{kind} has no --{name}: it takes {takes}")

    from ordinate.plots import caption, plain, save

    with plain():
        figure = draw(sources, **options)
        save(figure, out)
    typer.echo(caption(figure).replace("\\$", "$"))
    typer.echo(f"written: {out}")


def _integers(name: str, text: str | None) -> list[int] | None:
    if text is None:
        return None
    from ordinate.errors import InputError

    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{name} must be integers with commas, got {text!r}") from None
