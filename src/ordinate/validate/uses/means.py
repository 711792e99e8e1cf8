"""What is measured in nats: the margin of swapped evidence, the gain of a second copy, the loss behind a context."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ordinate.prove.statistics import wilson
from ordinate.validate.cells import Sample
from ordinate.validate.statistics import Verdict
from ordinate.validate.statistics.retention import RETAINED
from ordinate.validate.trials import Trial
from ordinate.validate.uses.bounds import Bounds, bounds
from ordinate.validate.uses.tallies import Tally, every

GAIN_FLOOR = 0.1
"""The gain of a second copy that the bound of the short one must exceed, [nat/token]."""

LOSS_MARGIN = 0.005
"""Two losses closer than this count as equal, as a share of the loss at the short length."""

FAILED = 1 - RETAINED
"""A length is refuted where more of its samples than this are proved to have failed; where more of the short ones have,
nothing is known of the effect."""

_BOTH_TAILS = 0.9
REAL, FOREIGN = "real", "foreign"


@dataclass(frozen=True)
class Gate:
    """Whether the short length shows the effect at all.

    Args:
        state: "open", "closed", "undecided", or "failed": not open, and so many requests were refused or ended in an
            error that it may be for want of answers
        bounds: of the short effect; None where there are too few samples
    """

    state: Literal["open", "closed", "undecided", "failed"]
    bounds: Bounds | None = None


@dataclass(frozen=True)
class Measured:
    """What one length shows with its evidence in one place.

    Args:
        verdict: of this place alone; refuted at 5 % over all places (or all shorter lengths) together
        gate: of the place
        bounds: of what the verdict stands on; None where there are too few samples
        failed: samples without a number
        units: how many were compared
    """

    verdict: Verdict
    gate: Gate
    bounds: Bounds | None = None
    failed: int = 0
    units: int = 0


def gate(trial: Trial, tally: Tally, places: str) -> Gate:
    """Whether the effect is there at the short length: its one-sided 95 % bound lies above what counts as none.

    margin: above 0; copy: the gain above 0.1 nat/token; language: the loss behind foreign text less that behind the
    text's own, above 0 (open where foreign text is not asked)
    """
    if not tally.holds(trial.short, places, trial.units):
        return Gate("undecided")
    if trial.measure != "language":
        values, clusters = effects(trial, tally, trial.short, places)
        needed = GAIN_FLOOR if trial.measure == "copy" else 0.0
    elif FOREIGN not in trial.places or REAL not in trial.places:
        return Gate("open")
    else:
        if not all(tally.holds(trial.short, place, trial.units) for place in (REAL, FOREIGN)):
            return Gate("undecided")
        values, clusters = difference(tally, (trial.short, FOREIGN), (trial.short, REAL))
        needed = 0.0
    found = bounds(values, clusters)
    if found is not None and found.least > needed:
        return Gate("open", found)
    asked = (REAL, FOREIGN) if trial.measure == "language" else (places,)
    samples = [sample for place in asked for unit in tally.units(trial.short, place).values() for sample in unit]
    lost = sum(number(sample, trial) is None for sample in samples)
    return Gate("failed" if lost > FAILED * len(samples) else "closed", found)


def measured(trial: Trial, tally: Tally, length: int, places: str) -> Measured:
    """The verdict of one length with its evidence in one place."""
    found = gate(trial, tally, places)
    if found.state == "closed":
        lost = _lost(trial, tally, places) if trial.measure == "copy" else None
        return Measured("not applicable" if lost is None else "refuted", found, lost or found.bounds)
    if length == trial.short:
        return Measured("supported" if found.state == "open" else "inconclusive", found, found.bounds)
    units = tally.units(length, places)
    if found.state != "open" or not tally.holds(length, places, trial.units):
        return Measured("inconclusive", found, units=len(units))
    failed = sum(number(sample, trial) is None for unit in units.values() for sample in unit)
    samples = sum(len(unit) for unit in units.values())
    if failed and wilson(failed, samples, _BOTH_TAILS)[0] > FAILED:
        return Measured("refuted", found, None, failed, len(units))
    judge = {"margin": _margin, "copy": _copy, "language": _language}[trial.measure]
    verdict, about = judge(trial, tally, length, places)
    if failed and verdict == "supported" and trial.measure == "language":
        verdict = "inconclusive"
    return Measured(verdict, found, about, failed, len(units))


def number(sample: Sample, trial: Trial) -> float | None:
    """The effect of one sample, [nat]; None where it failed."""
    numbers = sample.numbers
    names = {"margin": ("margin",), "copy": ("first", "second"), "language": ("loss",)}[trial.measure]
    if sample.outcome in ("error", "refused") or any(name not in numbers for name in names):
        return None
    value = numbers["first"] - numbers["second"] if trial.measure == "copy" else numbers[names[0]]
    return float(value) if np.isfinite(value) else None


def effects(trial: Trial, tally: Tally, length: int, places: str) -> tuple[np.ndarray, list[int]]:
    """The effects of a cell, a failed sample having none, and the units they belong to."""
    values, clusters = [], []
    for unit, samples in sorted(tally.units(length, places).items()):
        for sample in samples:
            values.append(number(sample, trial) or 0.0)
            clusters.append(unit)
    return np.array(values), clusters


def losses(tally: Tally, length: int, places: str) -> Mapping[int, tuple[float, object]]:
    """By unit: the loss, and the text it is of, for units that did not fail."""
    found = {}
    for unit, samples in sorted(tally.units(length, places).items()):
        value = samples[0].numbers.get("loss")
        if samples[0].outcome not in ("error", "refused") and value is not None and np.isfinite(value):
            found[unit] = (float(value), samples[0].facts.get("document", unit))
    return found


def difference(tally: Tally, more: tuple[int, str], less: tuple[int, str]) -> tuple[np.ndarray, list[object]]:
    """The loss of the same targets in one cell less that in another, and the texts they are of."""
    first, second = losses(tally, *more), losses(tally, *less)
    both = sorted(first.keys() & second.keys())
    return np.array([first[unit][0] - second[unit][0] for unit in both]), [first[unit][1] for unit in both]


def _margin(trial: Trial, tally: Tally, length: int, places: str) -> tuple[Verdict, Bounds | None]:
    """Used where the bound of the margin is above 0."""
    found = bounds(*effects(trial, tally, length, places), above=0.05 / len(trial.places))
    return _judged(found), found


def _copy(trial: Trial, tally: Tally, length: int, places: str) -> tuple[Verdict, Bounds | None]:
    found = _kept(trial, tally, (trial.short, places), (length, places))
    return _judged(found), found


def _kept(trial: Trial, tally: Tally, before: tuple[int, str], after: tuple[int, str]) -> Bounds | None:
    """d = gain(after) - 0.85 gain(before), the same blocks in both cells."""
    far, clusters = effects(trial, tally, *after)
    near, same = effects(trial, tally, *before)
    keep = np.isin(clusters, same)
    values = far[keep] - RETAINED * near[np.isin(same, clusters)]
    return bounds(values, [c for c, k in zip(clusters, keep, strict=True) if k], above=0.05 / len(trial.places))


def _lost(trial: Trial, tally: Tally, places: str) -> Bounds | None:
    """Where a place shows no gain at the short length while another does: what it lacks, where that is proved."""
    other = next((place for place in trial.places if gate(trial, tally, place).state == "open"), None)
    found = None if other is None else _kept(trial, tally, (trial.short, other), (trial.short, places))
    return found if found is not None and found.most < 0 else None


def _judged(found: Bounds | None) -> Verdict:
    if found is None:
        return "inconclusive"
    return "supported" if found.least > 0 else "refuted" if found.most < 0 else "inconclusive"


def _language(trial: Trial, tally: Tally, length: int, places: str) -> tuple[Verdict, Bounds | None]:
    """Supported where against no shorter length more is lost than the margin; the bounds are of the worst of them.

    Contexts that are not the text's own are controls: they take part in no verdict of their own.
    """
    if places != REAL:
        return "supported", None
    short = [loss for loss, _ in losses(tally, trial.short, REAL).values()]
    if not short:
        return "inconclusive", None
    margin = LOSS_MARGIN * float(np.mean(short))
    shorter = [other for other in every(trial) if other < length and tally.holds(other, REAL, trial.units)]
    found = [
        bounds(*difference(tally, (length, REAL), (other, REAL)), above=0.05, below=0.05 / len(shorter))
        for other in shorter
    ]
    known = [one for one in found if one is not None]
    if len(known) < len(found) or not known:
        return "inconclusive", None
    worst = max(known, key=lambda one: one.most)
    if worst.most < margin:
        return "supported", worst
    return (
        ("refuted", max(known, key=lambda one: one.least))
        if any(k.least > margin for k in known)
        else (
            "inconclusive",
            worst,
        )
    )
