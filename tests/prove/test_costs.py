import sys

import numpy as np
import pytest

from ordinate.prove.costs import available_cores, measured, peak_memory


def test_a_part_says_whose_it_is_and_what_it_took():
    costs = []
    with measured(costs, "extended", "sorting"):
        np.sort(np.random.default_rng(0).normal(size=3_000_000))
    (cost,) = costs
    assert (cost.model, cost.part) == ("extended", "sorting")
    assert cost.cpu_seconds > 0.01
    assert cost.seconds > 0.01


def test_a_part_that_fails_is_not_counted():
    costs = []
    with pytest.raises(ZeroDivisionError), measured(costs, "original", "failing"):
        1 / 0  # noqa: B018
    assert costs == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not say")
def test_peak_memory_grows_with_what_is_held_and_stays():
    before = peak_memory()
    held = np.ones(before // 8 + 2**24)  # as much again as was ever held, and 128 MiB
    during = peak_memory()
    assert during > 0.99 * held.nbytes
    del held
    # Linux counts a few pages of each thread late, so that a peak may shrink by as many.
    assert peak_memory() > 0.99 * during


def test_at_least_one_core_is_available():
    assert available_cores() >= 1
