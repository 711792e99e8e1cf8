"""Level 2: what N tokens take of time and memory, and whether they fit."""

from ordinate.plan import kv_bytes
from ordinate.validate.holds.fitting import Fit, fit
from ordinate.validate.holds.holds import holds
from ordinate.validate.holds.timing import Timed, Times, time_lengths

__all__ = ["Fit", "Timed", "Times", "fit", "holds", "kv_bytes", "time_lengths"]
