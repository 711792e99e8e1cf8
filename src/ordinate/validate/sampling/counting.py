"""How many requests of an engine a sample takes, said before any is made."""

from collections.abc import Callable
from functools import cache

from ordinate.errors import InputError
from ordinate.validate.cells import Cell, Request
from ordinate.validate.sampling.answers import rows_of
from ordinate.validate.sampling.base import Kitchen
from ordinate.validate.sampling.losses import COPIES
from ordinate.validate.tasks.associative_copy import AssociativeCopy


def counter(kitchen: Kitchen) -> Callable[[Request], int]:
    """What counts the requests that are sent for a sample: answers, rows, or tokens one by one.

    What is sent again after an error is not known before.

    Args:
        kitchen: who is asked; where no server is, a sample counts as one
    """
    per = kitchen.backend.scored

    @cache  # the same at every length and place
    def margin(task: str, difficulty: tuple[tuple[str, object], ...], mode: str, seed: int, index: int) -> int:
        cell = Cell("margin", task, 0, difficulty=difficulty, mode=mode)
        try:
            rows = rows_of(kitchen, cell, seed, index)
        except InputError:  # the run will say so of this sample, and ask nothing
            return 0
        # A beginning that two rows share is asked once.
        return 2 * len({row[:end] for row in rows for end in range(1, len(row) + 1)})

    def count(request: Request) -> int:
        cell = request.cell
        level = dict(cell.difficulty)
        if cell.measure == "answer" or per == "sample":
            return 1
        if cell.measure == "margin":
            if per == "row":
                return 4  # two answers behind each of two prompts
            return margin(cell.task, cell.difficulty, cell.mode, request.seed, request.index)
        if cell.measure == "copy":
            return COPIES * (1 if per == "row" else {**AssociativeCopy.defaults, **level}["value"])
        return 1 if per == "row" else level["target"]

    return count
