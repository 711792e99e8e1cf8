"""What a count of right answers proves: retention, floors, equivalence, stability, and the length that follows."""

from ordinate.validate.statistics.effective_length import effective_length
from ordinate.validate.statistics.equivalence import Equivalence, equivalent, instances_needed
from ordinate.validate.statistics.floor import Floor, floor
from ordinate.validate.statistics.retention import LOOKS, Pairs, Retention, retention, score
from ordinate.validate.statistics.stability import Stability, stability
from ordinate.validate.statistics.verdicts import Verdict

__all__ = [
    "LOOKS",
    "Equivalence",
    "Floor",
    "Pairs",
    "Retention",
    "Stability",
    "Verdict",
    "effective_length",
    "equivalent",
    "floor",
    "instances_needed",
    "retention",
    "score",
    "stability",
]
