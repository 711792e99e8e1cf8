"""The course of `ordinate validate`: the model opened, the estimate said, a long run confirmed, and the run itself."""

from pathlib import Path
from typing import Any

import typer

CONFIRMED = 1_000_000
"""A run that may take more tokens than this is confirmed on a terminal."""


def run(
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
    from ordinate.validate.fillers import named
    from ordinate.validate.opening import opened
    from ordinate.validate.preparing import Asked, name_of, opening_of, prepare, resume
    from ordinate.validate.running import Limits
    from ordinate.validate.shards import shard
    from ordinate.validate.store.folder import check_place
    from ordinate.validate.suites import find
    from ordinate.validate.validating import validate

    limits = Limits(
        tokens=None if budget is None else tokens(budget),
        seconds=None if seconds is None else positive("--seconds", seconds),
    )
    if folder is None:  # what no model is needed for is said before one is opened, which takes far longer
        find(asked["suite"]).asked(asked["tasks"])
        named(asked["filler"])
    if out is not None:
        check_place(out, "--out")
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
