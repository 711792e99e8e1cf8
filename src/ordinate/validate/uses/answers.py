"""Right and wrong answers: the floor gate of each place, and what every longer length keeps of its short score."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ordinate.prove.statistics import wilson
from ordinate.validate.statistics import LOOKS, Floor, Pairs, Retention, Verdict, floor, retention
from ordinate.validate.trials import Trial
from ordinate.validate.uses.tallies import Tally, every, right, unanswered

_BOTH_TAILS = 0.9
"""The level of an interval whose two tails are 5 % each."""


@dataclass(frozen=True)
class Gate:
    """Whether a trial can be measured with its evidence in one place.

    Args:
        state: "open": above its floor, which is never taken back; "closed": at it; "undecided": more is to be sampled;
            "failed": not above it, and it would be, were all requests right that were refused or ended in an error
        floor: the short score at the last look; None before the first
        look: units at that look; where undecided, at the next one
    """

    state: Literal["open", "closed", "undecided", "failed"]
    floor: Floor | None
    look: int


@dataclass(frozen=True)
class Kept:
    """What one length keeps with its evidence in one place.

    Args:
        verdict: of this place alone; refuted at 5 % over all places together
        gate: of the place
        retention: at the look that decided, or at the last one; None before the first
        next: at how many units the next look is, where there is one and it is wanted
        against: where this place is at its floor, the place above it that it was compared with at the short length
    """

    verdict: Verdict
    gate: Gate
    retention: Retention | None = None
    next: int | None = None
    against: str = ""


def chance(trial: Trial) -> float:
    """What a reader scores that uses no evidence, [1]."""
    task = trial.kind.__new__(trial.kind)  # without words: none are drawn for it
    return task.chance(**trial.level)


def looks(trial: Trial) -> tuple[int, ...]:
    """After how many units evidence is looked at."""
    return tuple(look for look in LOOKS if look <= trial.units)


def gate(trial: Trial, tally: Tally, places: str) -> Gate:
    """Look at the short score of one place until it is above its floor, or proved to be below it.

    open: at any look the one-sided 95 % bound is above chance + 0.10
    closed: at any look the other bound is below that, or no look is left
    failed: where it would be closed, but for requests that got no answer: they say nothing of what can be done
    """
    level, found, look = chance(trial), None, 0
    for look in looks(trial):
        if not tally.holds(trial.short, places, look):
            return Gate("undecided", found, look)
        count = int(tally.right(trial.short, places, look).sum())
        found = floor(count, look, chance=level)
        if found.above:
            return Gate("open", found, look)
        if wilson(count, look, _BOTH_TAILS)[1] < found.needed:
            break
    return Gate("failed" if _for_want_of_answers(trial, tally, places, look) else "closed", found, look)


def _for_want_of_answers(trial: Trial, tally: Tally, places: str, look: int) -> bool:
    """Whether a place would be above its floor, were its units right that lack an answer."""
    units = tally.units(trial.short, places)
    best = sum(right(units[number]) or unanswered(units[number]) for number in range(look))
    return floor(best, look, chance=chance(trial)).above


def kept(trial: Trial, tally: Tally, length: int, places: str) -> Kept:
    """The verdict of one length with its evidence in one place: that of the first look that decides.

    A place at its floor while the task is above it in another is no lack of the ability: it is refuted where it is
    proved to keep less than is asked of what the first such place has at the short length.
    """
    found = gate(trial, tally, places)
    if found.state == "closed":
        return _lost(trial, tally, places, found)
    if length == trial.short:
        return Kept("supported" if found.state == "open" else "inconclusive", found)
    if found.state != "open":
        return Kept("inconclusive", found)
    level, last = chance(trial), None
    for look in looks(trial):
        if not (tally.holds(trial.short, places, look) and tally.holds(length, places, look)):
            return Kept("inconclusive", found, last, look)
        both = pairs(tally.right(trial.short, places, look), tally.right(length, places, look))
        last = retention(both, chance=level, places=len(trial.places), last=trial.units)
        if last.verdict != "inconclusive":
            return Kept(last.verdict, found, last)
    return Kept("inconclusive", found, last)


def _lost(trial: Trial, tally: Tally, places: str, found: Gate) -> Kept:
    other = next((place for place in trial.places if gate(trial, tally, place).state == "open"), None)
    if other is None:
        return Kept("not applicable", found)
    # Nothing has been asked for this test, so that it is made once, at the last look that both places have.
    look = max(n for n in looks(trial) if all(tally.holds(trial.short, place, n) for place in (places, other)))
    both = pairs(tally.right(trial.short, other, look), tally.right(trial.short, places, look))
    last = retention(both, chance=chance(trial), places=len(trial.places), last=trial.units)
    return Kept("refuted" if last.verdict == "refuted" else "not applicable", found, last, against=other)


def pairs(first: np.ndarray, second: np.ndarray) -> Pairs:
    """The table of the same units at two lengths, or in two places."""
    return Pairs(
        both=int((first & second).sum()),
        lost=int((first & ~second).sum()),
        gained=int((~first & second).sum()),
        neither=int((~first & ~second).sum()),
    )


def verdicts(trial: Trial, tally: Tally) -> Mapping[tuple[int, str], Kept]:
    """What every length keeps in every place."""
    return {(length, place): kept(trial, tally, length, place) for length in every(trial) for place in trial.places}
