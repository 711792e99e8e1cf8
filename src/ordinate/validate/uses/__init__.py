"""Where samples become verdicts: pure functions of a trial and what was sampled of it, and of nothing else."""

from ordinate.validate.uses.lengths import Verdicts, by_length, reached, verdicts
from ordinate.validate.uses.planning import Wanted, undecided
from ordinate.validate.uses.statements import claims, subjects
from ordinate.validate.uses.tallies import Tally, Unit, tally

__all__ = [
    "Tally",
    "Unit",
    "Verdicts",
    "Wanted",
    "by_length",
    "claims",
    "reached",
    "subjects",
    "tally",
    "undecided",
    "verdicts",
]
