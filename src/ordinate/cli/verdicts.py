"""What `ordinate validate` and `merge` print when a run has ended, and the exit code that follows from it."""

from pathlib import Path
from typing import Any, Literal

import typer


def shown(path: Path, course: Any, found: Any, format: Literal["text", "json"]) -> int:
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
        _print(path, course, found, card, format)
    except BrokenPipeError:  # whoever reads it went away: the verdict stands all the same
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _print(path: Path, course: Any, found: Any, card: Any, format: Literal["text", "json"]) -> None:
    import json
    import sys

    from ordinate.schema import beginning
    from ordinate.validate.written import to_text

    manifest, judged = found
    if format == "json":
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
