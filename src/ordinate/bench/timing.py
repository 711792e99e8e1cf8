"""Contenders in turn, round after round, and what the rounds say together."""

import random
import statistics
import time
from collections.abc import Sequence
from typing import Any

from ordinate.bench.case import Case, Figure

DRAWS = 1000
"""How many times rounds are drawn anew for an interval."""


class Inaccurate(RuntimeError):
    """A result is further off than it may be, so that its time means nothing."""


def measure(case: Case, rounds: int) -> dict[str, Any]:
    """Time every contender in every round.

    One thread is timed by its own CPU time, which other programs do not change; several by the clock on the wall.

    Args:
        case: what is timed
        rounds: how many times, after one round that warms caches up

    Returns:
        What was measured, in words and numbers that JSON has

    Raises:
        Inaccurate: the product's result is not right; then nothing is timed
    """
    if not case.difference <= case.tolerance:
        raise Inaccurate(
            f"{case.name} is not timed: {case.measure} must be at most {case.tolerance:g}, got {case.difference:g}"
        )
    wall = any(count > 1 for count in case.threads.values())
    seconds = _seconds(case, rounds, wall)
    return {
        "case": case.name,
        "clock": "wall time" if wall else "CPU time of the thread",
        "rounds": rounds,
        "contenders": {
            name: {
                "threads": case.threads.get(name, 1),
                "seconds, minimum, median and maximum": [min(s), statistics.median(s), max(s)],
            }
            for name, s in seconds.items()
        },
        "figures": [summary(figure, figure.of(seconds)) for figure in case.figures],
        "difference": case.difference,
        "difference is": case.measure,
        "tolerance": case.tolerance,
    }


def _seconds(case: Case, rounds: int, wall: bool) -> dict[str, list[float]]:
    import torch

    clock = time.perf_counter if wall else time.thread_time
    seconds: dict[str, list[float]] = {name: [] for name in case.contenders}
    before = torch.get_num_threads()
    try:
        for number in range(rounds + 1):
            for name, run in case.contenders.items():
                torch.set_num_threads(case.threads.get(name, 1))
                start = clock()
                run()
                spent = clock() - start
                if number:
                    seconds[name].append(spent)
    finally:
        torch.set_num_threads(before)
    return seconds


def summary(figure: Figure, rounds: Sequence[float]) -> dict[str, Any]:
    """The median of a figure's rounds, its 95 % bootstrap interval, and what became of its bar.

    A bar is on the interval's lower end, whichever way it points.
    """
    generator = random.Random(0)  # noqa: S311 - resampling is no secret
    medians = sorted(statistics.median(generator.choices(rounds, k=len(rounds))) for _ in range(DRAWS))
    median, low, high = statistics.median(rounds), medians[DRAWS // 40], medians[-DRAWS // 40 - 1]
    made: dict[str, Any] = {"name": figure.name, "unit": figure.unit, "median": median, "interval": [low, high]}
    if figure.at_most is not None:
        made["at most"] = figure.at_most
        made["bar"] = "not met" if low > figure.at_most else "met"
        if made["bar"] == "met" and median > figure.at_most:
            made["bar"] = "met at the lower end only"
    if figure.at_least is not None:
        made["at least"] = figure.at_least
        made["bar"] = "met" if low >= figure.at_least else "not met"
    return made
