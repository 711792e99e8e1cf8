"""`cells.sqlite`: the state of the cells, times, and an index of keys. All but the times follows from the samples."""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

from ordinate.validate.cells import Cell, Sample

NAME = "cells.sqlite"
VERSION = 1
_TABLES = """
create table cells (
    number integer primary key, trial integer, measure text, task text, length integer, places text, control text,
    planned integer, done integer not null default 0, good integer not null default 0,
    failed integer not null default 0, seconds real not null default 0
);
create table samples (key text primary key, cell integer references cells, item integer, outcome text, seconds real);
"""
_PLANNED = """
insert into cells (number, trial, measure, task, length, places, control, planned) values (?, ?, ?, ?, ?, ?, ?, ?)
"""
_SET = """
update cells set done = done + 1, good = good + ?, failed = failed + ?, seconds = seconds + coalesce(?, 0)
where number = ?
"""


class Cells:
    """The open database.

    Args:
        file: made where it is not there, or damaged, or says something else than the samples
        planned: every cell of the plan with the number of its trial, and how many samples it may have
        samples: those that are there
    """

    def __init__(self, file: Path, planned: Mapping[Cell, tuple[int, int]], samples: Iterable[Sample]) -> None:
        self._number = {cell: number for number, cell in enumerate(planned)}
        held = {sample.key: sample for sample in samples}
        times = _times(file)
        self._database: sqlite3.Connection | None = None
        if times is not None and times.keys() == held.keys():
            self._database = _opened(file)
            return
        for part in ("", "-wal", "-shm"):
            file.with_name(file.name + part).unlink(missing_ok=True)
        self._database = _opened(file)
        with self._database:
            self._database.executescript(f"{_TABLES}; pragma user_version = {VERSION};")
            rows = [
                (number, trial, cell.measure, cell.task, cell.length, cell.places, cell.control, most)
                for number, (cell, (trial, most)) in enumerate(planned.items())
            ]
            self._database.executemany(_PLANNED, rows)
            for sample in held.values():
                self._add(self._database, sample, (times or {}).get(sample.key))

    def add(self, sample: Sample, seconds: float | None) -> None:
        """Count a sample that took so long, [s]."""
        assert self._database is not None  # noqa: S101 - it is open
        with self._database:
            self._add(self._database, sample, seconds)

    def close(self) -> None:
        """Give the file back."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _add(self, database: sqlite3.Connection, sample: Sample, seconds: float | None) -> None:
        number = self._number.get(sample.cell)
        row = (sample.key, number, sample.index, sample.outcome, seconds)
        database.execute("insert into samples values (?, ?, ?, ?, ?)", row)
        failed = sample.outcome in ("unparsed", "refused", "error")
        database.execute(_SET, (sample.outcome == "right", failed, seconds, number))


def read_cells(folder: Path) -> list[dict[str, object]]:
    """The rows of a run folder's cells, for a look at a run that goes on; empty where there are none."""
    file = folder / NAME
    if not file.exists():
        return []
    with closing(_opened(file)) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute("select * from cells order by number")]


def _opened(file: Path) -> sqlite3.Connection:
    database = sqlite3.connect(file, timeout=10)
    database.execute("pragma journal_mode = wal")
    database.execute("pragma synchronous = off")  # a kill loses nothing of it, and the samples are the truth
    return database


def _times(file: Path) -> dict[str, float | None] | None:
    """The seconds of each sample by its key; None where the file cannot tell."""
    if not file.exists():
        return None
    try:
        with closing(_opened(file)) as database:
            if database.execute("pragma user_version").fetchone()[0] != VERSION:
                return None
            return dict(database.execute("select key, seconds from samples").fetchall())
    except sqlite3.DatabaseError:  # torn: it is made anew
        return None
