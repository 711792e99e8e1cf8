"""Samples in, cells out: order, strangers and repeats change nothing."""

from dataclasses import replace

import numpy as np
import pytest
from validate_runs import drawn, sampled, trial

from ordinate.errors import InputError
from ordinate.validate.uses import by_length, claims, tally, undecided

ONE = trial(lengths=(512, 1024), places=("start", "middle"), controls=("no_context",), units=50)


def right(length, places, control):
    return 0.1 if control else 0.6 if (length, places) == (1024, "middle") else 0.97


def everything(samples):
    found = tally(ONE, samples)
    return by_length(ONE, found), claims(ONE, found), undecided(ONE, found)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_samples_does_not_matter(seed):
    samples = drawn(ONE, right, seed)
    random = np.random.default_rng(seed)
    part = samples[: len(samples) * (seed + 1) // 3]
    mixed = [part[i] for i in random.permutation(len(part))]
    assert everything(mixed) == everything(part)


def test_samples_of_other_trials_and_repeats_do_not_matter():
    samples = drawn(ONE, right)
    others = [
        trial(seed=1),
        trial(filler="noise"),
        trial(task="indirect"),
        trial(measure="margin"),
        trial(mode="chat"),
        trial(reserve=9),
    ]
    strangers = [sampled(t.requests(t.cell(512, "middle"), 0, 1)[0], "wrong") for t in others]
    assert everything([*strangers, *samples, *samples[:7]]) == everything(samples)


def test_a_request_with_two_results_is_refused():
    samples = drawn(ONE, right)
    other = replace(samples[0], outcome="error")
    with pytest.raises(InputError, match="twice, differently"):
        tally(ONE, [*samples, other])


def test_a_pair_counts_when_both_members_are_there_and_is_right_when_both_are():
    pairs = trial(task="absence", units=24)
    cell = pairs.cell(256, "middle")
    requests = pairs.requests(cell, 0, 3)
    assert [request.index for request in requests] == [0, 1, 2, 3, 4, 5]
    outcomes = ["right", "right", "right", "unparsed", "right"]
    found = tally(pairs, [sampled(r, o) for r, o in zip(requests, outcomes, strict=False)])
    assert list(found.units(256, "middle")) == [0, 1]
    assert found.right(256, "middle", 2).tolist() == [True, False]
    assert found.holds(256, "middle", 2)
    assert not found.holds(256, "middle", 3)


@pytest.mark.parametrize("outcome", ["wrong", "unparsed", "refused", "error"])
def test_whatever_is_not_right_is_wrong(outcome):
    one = trial(units=24)
    found = tally(one, [sampled(one.requests(one.cell(256, "middle"), 0, 1)[0], outcome)])
    assert not found.right(256, "middle", 1).any()
