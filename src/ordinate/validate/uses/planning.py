"""What is to be sampled next, from what was sampled: nothing else decides it, so that a resumed run does the same."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ordinate.validate.cells import Cell
from ordinate.validate.trials import Trial
from ordinate.validate.uses import means
from ordinate.validate.uses.answers import gate, kept
from ordinate.validate.uses.tallies import Tally


@dataclass(frozen=True)
class Wanted:
    """Units of a cell that are to be sampled.

    Args:
        cell: which
        first: the first unit that lacks a sample
        last: one more than the last unit
    """

    cell: Cell
    first: int
    last: int


def undecided(trial: Trial, tally: Tally, *, search: bool = False) -> tuple[Wanted, ...]:
    """What to sample next; empty where nothing more is wanted.

    First the short cells; where every place is above its floor, the longer lengths from short to long, and further
    looks only where a length is still inconclusive. Where a place is at its floor nothing longer is asked.

    Args:
        trial: what is asked
        tally: what was sampled
        search: look for the longest supported length by bisection, instead of at every length
    """
    return _ordered(trial, tally, _answers(trial, tally, search) if trial.measure == "answer" else _means(trial, tally))


Demand = tuple[int, str, str, int]
"""Length, places, control, and how many units from the first on."""


def _answers(trial: Trial, tally: Tally, search: bool) -> list[Demand]:
    gates = {place: gate(trial, tally, place) for place in trial.places}
    pending = [(trial.short, p, "", found.look) for p, found in gates.items() if found.state == "undecided"]
    if pending or any(found.state in ("closed", "failed") for found in gates.values()):
        return pending
    found: list[Demand] = [(trial.short, trial.places[0], name, trial.control_units) for name in trial.controls]

    def wanted(length: int) -> list[Demand]:
        places = {place: kept(trial, tally, length, place) for place in trial.places}
        if any(place.verdict == "refuted" for place in places.values()):
            return []
        return [(at, place, "", one.next) for place, one in places.items() if one.next for at in (trial.short, length)]

    def supported(length: int) -> bool:
        return all(kept(trial, tally, length, place).verdict == "supported" for place in trial.places)

    if search:
        return found + _bisected(trial.lengths, wanted, supported)
    return found + [one for length in trial.lengths for one in wanted(length)]


def _bisected(
    lengths: tuple[int, ...], wanted: Callable[[int], list[Demand]], supported: Callable[[int], bool]
) -> list[Demand]:
    """What the first undecided step of a bisection wants; the steps before it follow from their verdicts."""
    below, above = -1, len(lengths)
    while above - below > 1:
        middle = (below + above) // 2
        found = wanted(lengths[middle])
        if found:
            return found
        below, above = (middle, above) if supported(lengths[middle]) else (below, middle)
    return []


def _means(trial: Trial, tally: Tally) -> list[Demand]:
    short: list[Demand] = [(trial.short, place, "", trial.units) for place in trial.places]
    if not all(tally.holds(*demand[:2], trial.units) for demand in short):
        return short
    if any(means.gate(trial, tally, place).state in ("closed", "failed") for place in trial.places):
        return []
    return [(length, place, "", trial.units) for length in trial.lengths for place in trial.places]


def _ordered(trial: Trial, tally: Tally, demands: Iterable[Demand]) -> tuple[Wanted, ...]:
    """Each cell once, without what is there, in the order of the plan."""
    most: dict[tuple[int, str, str], int] = {}
    for length, place, control, count in demands:
        name = (length, place, control)
        most[name] = max(count, most.get(name, 0))
    found = []
    for (length, place, control), count in sorted(most.items(), key=lambda one: (one[0][0], one[0][2] != "")):
        units = tally.units(length, place, control)
        missing = next((number for number in range(count) if number not in units), None)
        if missing is not None:
            found.append(Wanted(trial.cell(length, place, control), missing, count))
    return tuple(found)
