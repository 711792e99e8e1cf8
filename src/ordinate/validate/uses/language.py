"""The claims of language modelling: what more context gains, and how much of that is order and words."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ordinate.validate.claims import Claim
from ordinate.validate.trials import Trial
from ordinate.validate.uses.bounds import Bounds, bounds
from ordinate.validate.uses.means import LOSS_MARGIN, REAL, difference, losses, measured
from ordinate.validate.uses.tallies import Tally, unanswered_why

_SLICE = "loss "
"""What the numbers of a sample begin with that are the losses of parts of the target: "loss 0-64"."""


def language_claims(
    trial: Trial, tally: Tally, subject: str, ability: str, lengths: Sequence[int]
) -> tuple[Claim, ...]:
    """One claim a length: nothing is lost that a shorter context had gained."""
    return tuple(_claim(trial, tally, subject, ability, length) for length in lengths)


def _claim(trial: Trial, tally: Tally, subject: str, ability: str, length: int) -> Claim:
    place = REAL if REAL in trial.places else trial.places[0]
    found = measured(trial, tally, length, place)
    gains: dict[str, Any] = {}
    if length != trial.short:
        gains[f"over {trial.short} tokens"] = _shown(bounds(*difference(tally, (trial.short, place), (length, place))))
    for other in trial.places:
        if other != place:
            gains[f"over {other}"] = _shown(bounds(*difference(tally, (length, other), (length, place))))
    evidence: dict[str, Any] = {
        "short_length": trial.short,
        "margin": LOSS_MARGIN,
        "units": found.units or len(tally.units(length, place)),
        "failed": found.failed,
        "losses": {other: _loss(tally, length, other) for other in trial.places},
        "gains": gains,
        "by_position": _positions(tally, length, place),
    }
    if found.bounds is not None and length != trial.short:
        evidence["against_best_shorter"] = _shown(found.bounds)
    why = _why(trial, length, evidence, found.verdict)
    if found.gate.state == "failed":
        why = unanswered_why(tally, trial.short, place)
    return Claim("L3", subject, ability, length, found.verdict, evidence, why)


def _why(trial: Trial, length: int, evidence: dict[str, Any], verdict: str) -> str:
    gain = evidence["gains"].get(f"over {trial.short} tokens")
    said = "" if gain is None else f": {gain['mean']:+.3f} nat/token gained over {trial.short:,} tokens"
    if verdict == "not applicable":
        return f"at {trial.short:,} tokens the text's own context is not proved to help more than foreign text"
    if length == trial.short:
        return "the short baseline"
    return {
        "supported": f"no shorter context gives a loss lower by {LOSS_MARGIN:.1%}",
        "refuted": f"a shorter context gives a loss lower by more than {LOSS_MARGIN:.1%}",
        "inconclusive": f"neither loss nor equality within {LOSS_MARGIN:.1%} is proved",
    }[verdict] + said


def _shown(found: Bounds | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"mean": found.mean, "low": found.low, "high": found.high, "texts": found.clusters}


def _loss(tally: Tally, length: int, place: str) -> dict[str, Any] | None:
    values = losses(tally, length, place)
    if not values:
        return None
    found = bounds([loss for loss, _ in values.values()], [text for _, text in values.values()])
    return _shown(found) or {"mean": float(np.mean([loss for loss, _ in values.values()])), "texts": 1}


def _positions(tally: Tally, length: int, place: str) -> dict[str, float]:
    """The mean loss of each part of the target, by its tokens, in order."""
    parts: dict[str, list[float]] = {}
    for unit in tally.units(length, place).values():
        for name, value in unit[0].numbers.items():
            if name.startswith(_SLICE):
                parts.setdefault(name.removeprefix(_SLICE), []).append(value)
    return {name: float(np.mean(parts[name])) for name in sorted(parts, key=_start)}


def _start(part: str) -> tuple[int, str]:
    first = part.split("-")[0]
    return (int(first) if first.isdigit() else 0, part)
