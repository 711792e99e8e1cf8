"""`ordinate validate`: does the long window work?"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ordinate.cli.amounts import bytes_of, lengths_of, tokens_of
from ordinate.cli.suite_options import Filler, Lengths, Reserve, Seed, Suite, Tasks, To, names


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
    budget: Annotated[
        str | None,
        typer.Option(
            help="Tokens at most, of the tasks of the whole run: 200000, 60k, 5M. An amount is no length: k is 1,000, "
            "M 1,000,000."
        ),
    ] = None,
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
    format: Annotated[Literal["text", "json"], typer.Option(help="How the verdicts are printed.")] = "text",
) -> int:
    """Ask a model tasks over a long text, at growing lengths, and say which lengths it uses.

    Every task is asked at a short length and at longer ones, the same instances at each; a length is supported where
    it keeps 85 % of the short score above chance, proved at 5 %, with the evidence in every place. A run lives in a
    folder, and the same command goes on with it, whatever ended it.

    The exit code is 0 where every length of every task above its floor is supported, 1 where one is refuted, and 3
    where neither is proved: a verdict is inconclusive, all tasks are at their floor, or a budget or a server ended the
    run before. A finished shard ends with 0.
    """
    from ordinate.cli.course import run
    from ordinate.cli.dispatch import INTERRUPTED, OK
    from ordinate.cli.verdicts import shown
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
            own = {"source": source, "key_file": "--api-key-file", "key_variable": "--api-key-variable"}
            left = own.get(given[0], f"--{given[0].replace('_', '-')}")
            raise InputError(f"--resume goes on with what was asked for: leave out {left}")
    elif source is None and url is None and backend is None:
        raise InputError("ordinate validate needs a model, --url and --model for a server, or --resume RUN")
    if workers is not None and ray is None:
        raise InputError("--workers are of a Ray cluster: give its address with --ray")
    where = None if ray is None else (ray, workers)
    try:
        found = run(opening, asked, resume, out, budget, seconds, where, ask=not (yes or dry_run), dry=dry_run)
    except KeyboardInterrupt as interrupt:
        typer.echo(f"ordinate: {str(interrupt) or 'interrupted'}", err=True)
        return INTERRUPTED
    if found is None:
        return OK
    return shown(*found, format)
