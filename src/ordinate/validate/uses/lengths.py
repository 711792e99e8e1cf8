"""The verdict of a length: its worst place decides."""

from collections.abc import Iterable, Mapping

from ordinate.validate.statistics import Verdict, effective_length
from ordinate.validate.trials import Trial
from ordinate.validate.uses import answers, means
from ordinate.validate.uses.answers import Kept
from ordinate.validate.uses.means import Measured
from ordinate.validate.uses.tallies import Tally, every

Verdicts = Mapping[tuple[int, str], Kept] | Mapping[tuple[int, str], Measured]


def verdicts(trial: Trial, tally: Tally) -> Verdicts:
    """What every length shows with its evidence in every place, by length and places."""
    if trial.measure == "answer":
        return answers.verdicts(trial, tally)
    return {
        (length, place): means.measured(trial, tally, length, place)
        for length in every(trial)
        for place in trial.places
    }


def of_length(places: Iterable[Verdict]) -> Verdict:
    """The verdict of a length from those of its places.

    refuted where any place is, not applicable where any is at its floor, supported where all are; else inconclusive
    """
    found = set(places)
    if not found:
        return "inconclusive"
    for verdict in ("refuted", "not applicable", "inconclusive"):
        if verdict in found:
            return verdict
    return "supported"


def by_length(trial: Trial, tally: Tally) -> Mapping[int, Verdict]:
    """The verdict of every length of a trial, the short one first."""
    found = verdicts(trial, tally)
    return {length: of_length(found[length, place].verdict for place in trial.places) for length in every(trial)}


def reached(trial: Trial, tally: Tally) -> int | None:
    """The longest length supported with all shorter tested ones, [token]; None where the short one is at its floor.

    A length of which nothing was sampled was not tested: a search by bisection leaves some out.
    """
    tested: dict[int, Verdict] = {
        length: verdict
        for length, verdict in by_length(trial, tally).items()
        if any(tally.units(length, place) for place in trial.places)
    }
    return effective_length(tested)
