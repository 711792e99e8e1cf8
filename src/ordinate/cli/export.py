"""`ordinate export`: the same prompts for another evaluation tool."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer


def command(
    format: Annotated[Literal["lm_eval", "inspect_ai"], typer.Argument(help="For which tool.")],
    out: Annotated[Path, typer.Argument(help="The folder to be made. It must not exist.")],
    tokenizer: Annotated[str, typer.Option(help="The model's own: a directory, a file, a model's name, or bytes.")],
    suite: Annotated[Literal["smoke", "standard", "publication"], typer.Option(help="What is asked.")] = "standard",
    lengths: Annotated[
        str | None, typer.Option(help="Lengths of prompts in tokens, with commas; the first is the short one.")
    ] = None,
    to: Annotated[
        int | None, typer.Option(help="Instead: the doubles of the shortest length that fits, up to this one.")
    ] = None,
    tasks: Annotated[str | None, typer.Option(help="These tasks alone, with commas.")] = None,
    place: Annotated[
        list[str] | None,
        typer.Option(
            help="Where evidence stands: start, middle, end, spread, reversed, or shares of the context such as 0.25; "
            "may be given again. Default: the suite's."
        ),
    ] = None,
    units: Annotated[
        int | None, typer.Option(help="Instances or minimal pairs of each cell. Default: the suite's.")
    ] = None,
    controls: Annotated[bool, typer.Option(help="With the suite's controls.")] = True,
    filler: Annotated[
        str, typer.Option(help="What fills the prompts: prose, generated, records, noise, or a text file.")
    ] = "prose",
    mode: Annotated[
        Literal["base", "chat", "reasoning"] | None,
        typer.Option(help="How answers are asked for. Default: base, and chat where the tool sends messages alone."),
    ] = None,
    reserve: Annotated[
        int | None, typer.Option(help="Tokens of an answer at most. Default: by the longest right one.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the instances.")] = 0,
    name: Annotated[str, typer.Option(help="What the names of all tasks begin with.")] = "ordinate",
) -> None:
    """Write a suite as a folder for lm-evaluation-harness or inspect_ai: prompts, answers and a scorer.

    The prompts are those that `ordinate validate` asks with the same tokenizer, suite, lengths, filler, mode and seed:
    exact in tokens, encoded once more before they are written. What needs log-probabilities is left out. The folder
    needs Ordinate no more; its README.md says how it is run.
    """
    from ordinate.cli.progress import progress
    from ordinate.errors import InputError, positive_integer
    from ordinate.validate.exports import export, find, parts

    one = find(format)
    units = None if units is None else positive_integer("--units", units)
    if lengths is not None and to is not None:
        raise InputError("lengths are given, or where they end, not both")
    scope = {
        "lengths": _numbers(lengths),
        "to": to,
        "tasks": tuple(part.strip() for part in tasks.split(",")) if tasks else (),
        "mode": mode or one.modes[0],
        "seed": seed,
        "reserve": reserve,
    }
    material, plan = _planned(suite, tokenizer, filler, scope)
    for sentence in plan.notes:
        typer.echo(sentence, err=True)
    wanted = parts(plan.trials, units=units, places=tuple(place or ()), controls=controls)
    with progress() as report:
        done = export(one, out, wanted, material, group=name, progress=report)
    prompts = sum(entry.part.units * entry.members for entry in done.entries)
    tokens = sum(entry.part.units * entry.members * entry.window for entry in done.entries)
    typer.echo(f"{len(done.entries)} tasks, {prompts} prompts, {tokens} tokens with their answers")
    typer.echo(f"the longest takes {done.window} tokens with its answer: nothing that answers may cut it")
    typer.echo(f"written: {out}, how it is run: {out / 'README.md'}")


def _planned(suite: str, tokenizer: str, filler: str, scope: dict[str, Any]) -> tuple[Any, Any]:
    """What prompts are made of, and a suite's plan for it."""
    from ordinate.validate.backends import read_tokenizer
    from ordinate.validate.fillers import named
    from ordinate.validate.sampling import Material
    from ordinate.validate.suites import Scope, find

    used = named(filler)
    material = Material(read_tokenizer(tokenizer), fillers=(used,))
    return material, find(suite).plan(Scope(material=material, filler=used.identity, **scope))


def _numbers(text: str | None) -> tuple[int, ...]:
    from ordinate.errors import InputError, positive_integer

    try:
        numbers = [int(part) for part in text.split(",")] if text else []
    except ValueError:
        raise InputError(f"--lengths must be numbers of tokens with commas, got {text!r}") from None
    return tuple(positive_integer("--lengths", number) for number in numbers)
