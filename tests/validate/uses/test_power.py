"""How often a reader that keeps everything is called supported, exactly: by enumeration, not by drawing."""

from math import comb
from pathlib import Path

import numpy as np
import pytest
from validate_runs import Counts, trial

from ordinate.validate.statistics import LOOKS, Pairs, retention
from ordinate.validate.suites._entries import ANSWERS
from ordinate.validate.uses import by_length
from ordinate.validate.uses.answers import gate

SCORE = 0.95
DOCS = Path(__file__).parents[3] / "docs" / "verdicts.md"


def binomial(units, right):
    return comb(units, right) * SCORE**right * (1 - SCORE) ** (units - right)


def power(task, units):
    """The chance of "supported" where each unit is right with 0.95 at the short length, and alike at the long one.

    What the looks say depends on how many of the first 24, 50 and 100 units are right alone.
    """
    one = trial(task=task, units=units)
    counts, found = Counts(one), 0.0
    rows, before = {(): 1.0}, 0
    for look in [look for look in LOOKS if look <= units]:
        grown = {}
        for row, weight in rows.items():
            for more in range(look - before + 1):
                grown[(*row, more)] = weight * binomial(look - before, more)
        rows = {row: weight for row, weight in grown.items() if weight > 1e-7}
        decided = {}
        for row, weight in rows.items():
            right, sizes = [], [24, 26, 50]
            for size, more in zip(sizes, row, strict=False):
                right += [True] * more + [False] * (size - more)
            outcomes = np.array([right + [False] * (units - len(right))])
            seen = counts.tally(outcomes, outcomes, look)
            verdict = by_length(one, seen)[512]
            if verdict == "supported":
                found += weight
            elif verdict == "inconclusive" and gate(one, seen, "middle").state != "closed":
                decided[row] = weight
        rows, before = decided, look
    return found


@pytest.mark.parametrize("units", [50, 100])
@pytest.mark.parametrize("task", sorted(ANSWERS))
def test_full_retention_is_found_in_nearly_every_run_of_50_units_for_every_task(task, units):
    assert power(task, units) > 0.9999


def test_the_docs_say_what_a_task_of_even_chance_would_need():
    supported = [
        right
        for right in range(51)
        if retention(Pairs(right, 0, 0, 50 - right), chance=0.5, last=50).verdict == "supported"
    ]
    assert supported == [*range(supported[0], 51)]
    found = sum(binomial(50, right) for right in supported)
    assert f"{supported[0]} of 50" in DOCS.read_text()
    assert f"{found:.1%}".replace("%", " %") in DOCS.read_text()
