"""Whether it matters where the evidence stands: places compared at one length."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ordinate.validate.claims import STABILITY, Claim
from ordinate.validate.parsing import Form
from ordinate.validate.statistics import Verdict, stability
from ordinate.validate.statistics.stability import MARGIN
from ordinate.validate.trials import Trial
from ordinate.validate.uses.answers import gate
from ordinate.validate.uses.tallies import Tally, Unit, unanswered_why

LEAST = 24
"""Units in every place, below which nothing is said."""


def stability_claims(trial: Trial, tally: Tally, subject: str, lengths: Sequence[int]) -> tuple[Claim, ...]:
    """Whether every place gives the same score: a claim a length, none where there is but one place.

    supported: every two places are equivalent within 0.05; refuted: the gap is more than chance, at 5 %
    """
    if len(trial.places) < 2:
        return ()
    return tuple(_claim(trial, tally, subject, length) for length in lengths)


def _claim(trial: Trial, tally: Tally, subject: str, length: int) -> Claim:
    cells = [tally.units(length, place) for place in trial.places]
    units = sorted(set.intersection(*(set(cell) for cell in cells)))

    def said(verdict: Verdict, why: str, evidence: dict[str, Any]) -> Claim:
        return Claim("L3", subject, STABILITY, length, verdict, {"units": len(units), **evidence}, why)

    if all(gate(trial, tally, place).state == "closed" for place in trial.places):
        return said("not applicable", "the task is at its floor in every place", {})
    if all(gate(trial, tally, place).state == "failed" for place in trial.places):
        return said("inconclusive", unanswered_why(tally, trial.short, trial.places[0]), {})
    if len(units) < LEAST:
        return said("inconclusive", f"{len(units)} units in every place; {LEAST} are needed", {})
    right = np.array([[_right(cell[unit]) for cell in cells] for unit in units])
    answers = np.array(
        [[_answer(cell[unit], place, trial.kind.form) for place, cell in enumerate(cells)] for unit in units],
        dtype=object,
    )
    found = stability(right, answers)
    shares = dict(zip(trial.places, found.shares, strict=True))
    best, worst = max(shares, key=lambda name: shares[name]), min(shares, key=lambda name: shares[name])
    lost = int((right[:, trial.places.index(best)] & ~right[:, trial.places.index(worst)]).sum())
    evidence = {
        "shares": shares,
        "gap": found.gap,
        "p_value": found.chance,
        "consistent": found.consistent,
        "flips": found.flips,
        "best": best,
        "worst": worst,
        "right_at_best_wrong_at_worst": lost,
        "margin": MARGIN,
    }
    shown = f"{best} {shares[best]:.0%}, {worst} {shares[worst]:.0%}" if found.gap else f"all {shares[best]:.0%}"
    gap = f"{shown}; {found.consistent:.0%} answered alike in all places"
    if found.verdict == "unstable":
        return said("refuted", f"the place of the evidence matters (p = {found.chance:.3g}): {gap}", evidence)
    if found.verdict == "stable":
        return said("supported", f"every two places are equal within {MARGIN:.2f}: {gap}", evidence)
    return said("inconclusive", f"neither a gap nor equality within {MARGIN:.2f} is proved: {gap}", evidence)


def _right(unit: Unit) -> bool:
    return all(sample.outcome == "right" for sample in unit)


def _answer(unit: Unit, place: int, form: Form) -> str:
    """What was answered, a set in any order; what could not be read equals nothing, not even itself elsewhere."""
    order = sorted if form == "set" else list
    return "|".join(f"unread {place}" if sample.parsed is None else ", ".join(order(sample.parsed)) for sample in unit)
