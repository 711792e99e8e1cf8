"""Which cells of a suite's trials are exported."""

from collections.abc import Sequence
from dataclasses import replace

from ordinate.validate.exports.base import Part
from ordinate.validate.trials import Trial


def parts(
    trials: Sequence[Trial],
    *,
    units: int | None = None,
    places: Sequence[str] = (),
    controls: bool = True,
) -> tuple[Part, ...]:
    """The cells of trials that are answered in words; what needs log-probabilities cannot be exported.

    Args:
        trials: of a suite's plan
        units: of each cell, of a control at most the trial's own number; None: the trial's numbers
        places: where evidence stands: names, or shares of the context with commas; empty: the trial's own
        controls: with the trial's controls
    """
    found = []
    for trial in trials:
        if trial.measure != "answer":
            continue
        asked = trial if not places else replace(trial, places=tuple(places))
        for cell in asked.cells:
            if not cell.control:
                found.append(Part(cell, asked.seed, asked.units if units is None else units))
            elif controls:
                found.append(Part(cell, asked.seed, min(asked.control_units, units or asked.control_units)))
    return tuple(found)
