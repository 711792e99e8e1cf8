"""`ordinate export`: the same prompts for another evaluation tool."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ordinate.cli.amounts import lengths_of
from ordinate.cli.suite_options import Filler, Lengths, Reserve, Seed, Suite, Tasks, To, names


def command(
    format: Annotated[Literal["lm_eval", "inspect_ai"], typer.Argument(help="For which tool.")],
    out: Annotated[Path, typer.Argument(help="The folder to be made. It must not exist.")],
    tokenizer: Annotated[str, typer.Option(help="The model's own: a directory, a file, a model's name, or bytes.")],
    suite: Suite = "standard",
    lengths: Lengths = None,
    to: To = None,
    tasks: Tasks = None,
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
    filler: Filler = "prose",
    mode: Annotated[
        Literal["base", "chat", "reasoning"] | None,
        typer.Option(help="How answers are asked for. Default: base, and chat where the tool sends messages alone."),
    ] = None,
    reserve: Reserve = None,
    seed: Seed = 0,
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
    from ordinate.weights.directory import check_directory

    check_directory(out, "OUT", new=True)
    one = find(format)
    units = None if units is None else positive_integer("--units", units)
    if lengths is not None and to is not None:
        raise InputError("lengths are given, or where they end, not both")
    scope = {
        "lengths": lengths_of(lengths, "--lengths") if lengths else (),
        "to": to,
        "tasks": names(tasks),
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
