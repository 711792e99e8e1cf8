"""Times of `rotate` and `attend` on this machine: correct first, rivals interleaved, a ratio for each round."""

from ordinate.bench.cases import CASES, asked, short
from ordinate.bench.machine import machine
from ordinate.bench.timing import Inaccurate, measure

__all__ = ["CASES", "Inaccurate", "asked", "machine", "measure", "short"]
