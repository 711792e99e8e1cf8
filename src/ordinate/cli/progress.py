"""Progress on stderr: a bar on a terminal, nothing elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[str, float, float], None]
"""Called with what is being done, how much of it is done, and how much there is."""


@contextmanager
def progress() -> Iterator[Report | None]:
    """A function to report progress to, or None where stderr is not a terminal.

    A stage has a bar of its own; of "checks: packed" the stage is "checks", and what follows may change.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True)) as bars:

        def report(stage: str, done: float, total: float) -> None:
            name = stage.partition(": ")[0]
            if name not in tasks:
                tasks[name] = bars.add_task(stage, total=total)
            bars.update(tasks[name], description=stage, completed=done, total=total)

        yield report
