"""Samples, sorted into the cells of a trial: whole units alone, whatever order they came in."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ordinate.errors import InputError
from ordinate.validate.cells import Sample
from ordinate.validate.trials import Trial

Unit = tuple[Sample, ...]
"""The samples of one unit: an instance, or both members of a minimal pair, in order of index."""


@dataclass(frozen=True)
class Tally:
    """What was sampled of a trial.

    Args:
        cells: by length [token], places and control: the units, by number
    """

    cells: Mapping[tuple[int, str, str], Mapping[int, Unit]]

    def units(self, length: int, places: str, control: str = "") -> Mapping[int, Unit]:
        """The complete units of a cell, by number."""
        return self.cells.get((length, places, control), {})

    def holds(self, length: int, places: str, count: int, control: str = "") -> bool:
        """Whether the first `count` units of a cell are all there."""
        units = self.units(length, places, control)
        return all(number in units for number in range(count))

    def right(self, length: int, places: str, count: int, control: str = "") -> np.ndarray:
        """Which of the first `count` units are right, bool [count]: all members are, and nothing went wrong."""
        units = self.units(length, places, control)
        return np.array([right(units[number]) for number in range(count)], dtype=bool)


def tally(trial: Trial, samples: Iterable[Sample]) -> Tally:
    """Sort samples into a trial's cells.

    Samples of other trials are passed over; units that lack a member are left out.

    Raises:
        InputError: two different samples of one request
    """
    names = {trial.cell(length, place): (length, place, "") for length in every(trial) for place in trial.places}
    first = trial.places[0]
    names |= {trial.cell(trial.short, first, control): (trial.short, first, control) for control in trial.controls}
    found: dict[tuple[int, str, str], dict[int, Sample]] = {name: {} for name in names.values()}
    for sample in samples:
        if sample.cell.task != trial.task:  # the quick answer for most samples of a run
            continue
        name = names.get(sample.cell)
        if name is None or sample.seed != trial.seed:
            continue
        if found[name].setdefault(sample.index, sample) != sample:
            raise InputError(f"sample {sample.index} of {trial.task} at {name[0]} tokens was given twice, differently")
    return Tally({name: _units(cell, trial.members) for name, cell in found.items()})


def every(trial: Trial) -> tuple[int, ...]:
    """All lengths of a trial, the short one first, [token]."""
    return (trial.short, *trial.lengths)


def right(unit: Unit) -> bool:
    """Whether all members of a unit are right."""
    return all(sample.outcome == "right" for sample in unit)


def unanswered(unit: Unit) -> bool:
    """Whether a request of a unit was refused or ended in an error."""
    return any(sample.outcome in ("refused", "error") for sample in unit)


def unanswered_why(tally: Tally, length: int, places: str) -> str:
    """Why nothing is known of a cell whose requests got no answer, in a sentence with the first reason."""
    samples = [sample for unit in tally.units(length, places).values() for sample in unit]
    lost = [sample for sample in samples if sample.outcome in ("refused", "error")]
    first = f"; the first: {lost[0].why}" if lost else ""
    ended = f"{len(lost)} of {len(samples)} requests were refused or ended in an error"
    return f"no baseline at {length:,} tokens: {ended}{first}"


def _units(cell: Mapping[int, Sample], members: int) -> dict[int, Unit]:
    numbers = sorted({index // members for index in cell})
    whole = {number: [number * members + member for member in range(members)] for number in numbers}
    return {
        number: tuple(cell[index] for index in indexes)
        for number, indexes in whole.items()
        if all(index in cell for index in indexes)
    }
