"""What is sampled next follows from what was sampled, whatever that came from."""

from dataclasses import replace

import numpy as np
import pytest
from validate_runs import drawn, sampled, trial

from ordinate.validate.uses import by_length, reached, tally, undecided

GRID = (512, 1024, 2048, 4096, 8192, 16384, 32768)


def chances(request, right):
    """A fixed outcome for each request, whoever asks and when."""
    random = np.random.default_rng(int(request.key({})[:12], 16))
    cell = request.cell
    return sampled(request, "right" if random.random() < right(cell.length, cell.places, cell.control) else "wrong")


def follow(one, right, samples, *, search, stop=10**9, order=None):
    """Sample what is wanted until nothing is, or until so many are there."""
    samples = list(samples)
    while wanted := undecided(one, tally(one, samples), search=search):
        there = {(sample.cell, sample.index) for sample in samples}
        asked = [r for w in wanted for r in one.requests(w.cell, w.first, w.last) if (r.cell, r.index) not in there]
        assert asked, "what is wanted is never there already"
        for i in order.permutation(len(asked)) if order is not None else range(len(asked)):
            if len(samples) >= stop:
                return samples
            samples.append(chances(asked[i], right))
    return samples


@pytest.mark.parametrize("search", [False, True])
@pytest.mark.parametrize("stop", [1, 30, 111, 400])
def test_a_run_that_is_stopped_anywhere_ends_with_the_same_samples(search, stop):
    one = trial(lengths=(512, 1024, 2048), places=("start", "middle"), controls=("no_context",))

    def right(length, places, control):
        return 0.1 if control else 0.92 if length < 2048 else 0.75

    whole = follow(one, right, [], search=search)
    begun = follow(one, right, [], search=search, stop=stop, order=np.random.default_rng(stop))
    resumed = follow(one, right, begun, search=search)
    assert {sample.key for sample in resumed} == {sample.key for sample in whole}
    assert by_length(one, tally(one, resumed)) == by_length(one, tally(one, whole))


@pytest.mark.parametrize("window", [256, 512, 2048, 8192, 32768])
def test_a_search_finds_the_window_with_fewer_lengths(window):
    one = trial(lengths=GRID)
    samples = drawn(one, lambda length, *_: float(length <= window), search=True)
    assert reached(one, tally(one, samples)) == window
    assert len({sample.cell.length for sample in samples}) <= 1 + 3


def test_nothing_more_is_asked_of_a_length_that_is_decided():
    one = trial(lengths=(512, 1024))
    samples = drawn(one, lambda length, *_: float(length < 1024))
    units = {n: len([s for s in samples if s.cell.length == n]) for n in (256, 512, 1024)}
    assert units == {256: 50, 512: 50, 1024: 24}  # 50 of 50 prove 512; 0 of 24 refute 1024


def test_controls_are_asked_at_the_short_length_once_it_is_above_its_floor():
    one = trial(controls=("no_context", "evidence_removed"), control_units=12)
    asked = [s for s in drawn(one, lambda _, __, control: 0.0 if control else 1.0) if s.cell.control]
    assert {(s.cell.control, s.cell.length) for s in asked} == {("no_context", 256), ("evidence_removed", 256)}
    assert len(asked) == 24
    assert not [s for s in drawn(one, lambda *_: 0.1) if s.cell.control]


def test_both_members_of_a_pair_are_asked():
    one = trial(task="absence", units=24)
    (wanted,) = undecided(one, tally(one, []))
    assert (wanted.first, wanted.last) == (0, 24)
    assert len(one.requests(wanted.cell, wanted.first, wanted.last)) == 48


def test_a_trial_of_fewer_units_is_not_looked_at_further():
    one = replace(trial(), units=50)
    samples = drawn(one, lambda length, *_: 0.95 if length == 256 else 0.84)
    assert max(sample.index for sample in samples) < 50
