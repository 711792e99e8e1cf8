"""`ordinate validate`: does the long window work?"""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ordinate.cli.amounts import bytes_of, lengths_of, tokens_of
from ordinate.cli.suite_options import Filler, Lengths, Reserve, Seed, Suite, Tasks, To, names

CONFIRMED = 1_000_000
"""A run that may take more tokens than this is confirmed on a terminal."""


def command(
    source: Annotated[
        str | None,
        typer.Argument(help="A Hugging Face directory, a GGUF file, or a model's name; none with --url."),
    ] = None,
    suite: Suite = "standard",
    lengths: Lengths = None,
    to: To = None,
    levels: Annotated[
        str | None,
        typer.Option(
            help="L1 (accepts), L2 (holds), L3 (uses), P (position numbering), with commas. Default: the suite's."
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            help="L2 holds a length within so much of a local model's process, as 4GiB, and looks for the longest that "
            "does."
        ),
    ] = None,
    tasks: Tasks = None,
    filler: Filler = "prose",
    mode: Annotated[Literal["base", "chat", "reasoning"], typer.Option(help="How answers are asked for.")] = "base",
    reserve: Reserve = None,
    seed: Seed = 0,
    search: Annotated[bool, typer.Option("--search", help="Find the longest length by bisection.")] = False,
    budget: Annotated[str | None, typer.Option(help="Tokens at most, of the whole run: 200000, 60k, 5M.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Seconds at most, from now.")] = None,
    shard: Annotated[
        str | None, typer.Option(help="One part of several, such as 0/4 of 0/4 to 3/4; see `ordinate merge`.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The run's folder. Default: one named by what determines the run.")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the run in this folder, as it was asked for.")] = None,
    backend: Annotated[
        str | None,
        typer.Option(help="transformers, llama_cpp, server, or simulated: and a reader, such as simulated:oracle."),
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="A running OpenAI-compatible server, such as http://127.0.0.1:8080/v1.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model's name at the server.")] = None,
    tokenizer: Annotated[
        str | None, typer.Option(help="A directory, file or model's name with the server's tokenizer.")
    ] = None,
    dtype: Annotated[
        Literal["float32", "bfloat16", "float16"] | None, typer.Option(help="What a local model computes in.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="Where a local model runs, as torch names it.")] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            parser=tokens_of,
            metavar="TOKENS",
            help="What prompt and answer may take together, where nothing declares it.",
        ),
    ] = None,
    concurrency: Annotated[int | None, typer.Option(help="Requests in flight at a server.")] = None,
    wait: Annotated[float | None, typer.Option(help="Seconds to wait for one reply of a server.")] = None,
    threads: Annotated[
        int | None, typer.Option(help="Threads of a local model. Default: torch's or llama.cpp's.")
    ] = None,
    api_key_file: Annotated[Path | None, typer.Option(help="A file that holds the server's key.")] = None,
    api_key_variable: Annotated[
        str | None, typer.Option(help="The name of an environment variable that holds it.")
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(help="The address of a Ray cluster whose workers answer: auto, or HOST:PORT."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="How many of them. Default: as many as the cluster has room for.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would take, and end.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before a long run.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
) -> int:
    """Ask a model tasks over a long text, at growing lengths, and say which lengths it uses.

    Every task is asked at a short length and at longer ones, the same instances at each; a length is supported where
    it keeps 85 % of the short score above chance, proved at 5 %, with the evidence in every place. A run lives in a
    folder, and the same command goes on with it, whatever ended it.

    The exit code is 0 where every length of every task above its floor is supported, 1 where one is refuted, and 3
    where neither is proved: a verdict is inconclusive, all tasks are at their floor, or a budget or a server ended the
    run before. A finished shard ends with 0.
    """
    from ordinate.cli.dispatch import INTERRUPTED, OK
    from ordinate.errors import InputError
    from ordinate.validate.opening import Opening

    opening = Opening(
        backend=backend,
        source=source,
        url=url,
        model=model,
        tokenizer=tokenizer,
        dtype=dtype,
        device=device,
        limit=limit,
        concurrency=concurrency,
        wait=wait,
        threads=threads,
        key_file=None if api_key_file is None else str(api_key_file),
        key_variable=api_key_variable,
    )
    asked = {
        "suite": suite,
        "lengths": lengths_of(lengths, "--lengths") if lengths else (),
        "to": to,
        "tasks": names(tasks),
        "filler": filler,
        "mode": mode,
        "seed": seed,
        "reserve": reserve,
        "search": search,
        "shard": shard,
        "levels": names(levels) or None,
        "memory": None if memory is None else bytes_of(memory),
    }
    if resume is not None:
        defaults = {"suite": "standard", "filler": "prose", "mode": "base", "seed": 0, "lengths": (), "tasks": ()}
        given = [name for name, value in asked.items() if value not in (defaults.get(name), None, False)]
        given += list(opening.to_dict()) + (["out"] if out is not None else [])
        if given:
            raise InputError(f"--resume goes on with what was asked for: leave out --{given[0].replace('_', '-')}")
    elif source is None and url is None and backend is None:
        raise InputError("ordinate validate needs a model, --url and --model for a server, or --resume RUN")
    if workers is not None and ray is None:
        raise InputError("--workers are of a Ray cluster: give its address with --ray")
    where = None if ray is None else (ray, workers)
    try:
        found = _run(opening, asked, resume, out, budget, seconds, where, ask=not (yes or dry_run), dry=dry_run)
    except KeyboardInterrupt as interrupt:
        typer.echo(f"ordinate: {str(interrupt) or 'interrupted'}", err=True)
        return INTERRUPTED
    if found is None:
        return OK
    return shown(*found, as_json=json)


def _run(
    opening: Any,
    asked: dict[str, Any],
    folder: Path | None,
    out: Path | None,
    budget: str | None,
    seconds: float | None,
    where: tuple[str, int | None] | None,
    *,
    ask: bool,
    dry: bool,
) -> tuple[Path, Any, Any] | None:
    """The run's folder, its course and its verdicts; None where nothing was run.

    Args:
        where: a Ray cluster's address and how many workers it is to have; None: here
    """
    from contextlib import ExitStack
    from shlex import quote

    from ordinate.cli.progress import progress
    from ordinate.errors import positive
    from ordinate.validate.estimate import tokens
    from ordinate.validate.opening import opened
    from ordinate.validate.preparing import Asked, name_of, opening_of, prepare, resume
    from ordinate.validate.running import Limits
    from ordinate.validate.shards import shard
    from ordinate.validate.validating import validate

    limits = Limits(
        tokens=None if budget is None else tokens(budget),
        seconds=None if seconds is None else positive("--seconds", seconds),
    )
    part = asked.pop("shard")
    wanted = None if folder is not None else Asked(**asked, shard=None if part is None else shard(part))
    answers = opening if folder is None else opening_of(folder)
    with ExitStack() as stack:
        cluster = None
        if where is None:
            with progress() as report:
                backend = stack.enter_context(opened(answers, report))
        else:
            import sys
            from contextlib import redirect_stdout

            from ordinate.validate.cluster.ray import RayCluster

            # Ray prints there what its daemons report, whatever it is told.
            stack.enter_context(redirect_stdout(sys.stderr))
            cluster = stack.enter_context(RayCluster(where[0], answers, where[1]))
            typer.echo(cluster.sentence, err=True)
            backend = cluster.backend
        ready = resume(folder, backend) if wanted is None and folder is not None else prepare(backend, wanted, opening)  # type: ignore[arg-type]
        for sentence in (*ready.manifest.notes, *ready.estimate.sentences()):
            typer.echo(sentence, err=True)
        if dry or (ask and not _confirmed(ready.estimate, limits.tokens)):
            return None
        path = folder or out or Path(name_of(ready.manifest, opening))
        try:
            with progress() as report:
                course, judged = validate(ready, path, limits=limits, progress=report, cluster=cluster)
        except KeyboardInterrupt:  # what was answered is kept
            how = f"; go on with: ordinate validate --resume {quote(str(path))}" if path.exists() else ""
            raise KeyboardInterrupt(f"interrupted{how}") from None
        return path, course, (ready.manifest, judged)


def _confirmed(estimate: Any, budget: int | None) -> bool:
    """Whether a long run is wanted; only a terminal is asked. The budget is of tasks alone."""
    import sys

    most = estimate.level_most + (estimate.most if budget is None else min(estimate.most, budget))
    if most <= CONFIRMED or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    return typer.confirm("Run it?", err=True)


def shown(path: Path, course: Any, found: Any, *, as_json: bool) -> int:
    """Write the card into the run's folder and print it; the exit code."""
    import os
    import sys

    from ordinate.cli.dispatch import ENVIRONMENT, FINDINGS, OK
    from ordinate.report.card import write
    from ordinate.validate.cards import card_of

    manifest, judged = found
    code = {"supported": OK, "refuted": FINDINGS, "open": ENVIRONMENT}[judged.state]
    if manifest.shard is not None:
        code = OK
    if course.ended != "complete" and code == OK:
        code = ENVIRONMENT
    card = card_of(path) if manifest.shard is not None else write(path)
    try:
        _print(path, course, found, card, as_json=as_json)
    except BrokenPipeError:  # whoever reads it went away: the verdict stands all the same
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _print(path: Path, course: Any, found: Any, card: Any, *, as_json: bool) -> None:
    import json
    import sys

    from ordinate.schema import beginning
    from ordinate.validate.written import to_text

    manifest, judged = found
    if as_json:
        rows = [
            {
                "task": trial.task,
                "measure": trial.measure,
                "verdicts": {str(length): verdict for length, verdict in lengths.items()},
            }
            for trial, lengths in judged.verdicts
        ]
        shard = None if manifest.shard is None else f"{manifest.shard[0]}/{manifest.shard[1]}"
        about = {"run": str(path), "ended": course.ended, "why": course.why, "tokens": course.tokens, "shard": shard}
        typer.echo(json.dumps({**beginning("run"), **about, "trials": rows, "card": card.to_dict()}, indent=2))
    else:
        if manifest.shard is None:
            typer.echo(to_text(card).rstrip("\n"))
        if course.ended != "complete":
            typer.echo(f"ended early: {course.why}")
        typer.echo(f"written: {path}")
    if sys.stdout is not None:
        sys.stdout.flush()
