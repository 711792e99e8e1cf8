"""Verdicts of answers: what they are for readers whose scores are known, and how often they are false."""

import numpy as np
import pytest
from validate_runs import Counts, correlated, drawn, run, sampled, trial

from ordinate.errors import InputError
from ordinate.validate.claims import STABILITY
from ordinate.validate.statistics import LOOKS, Pairs, retention
from ordinate.validate.uses import by_length, claims, reached, tally, verdicts
from ordinate.validate.uses.answers import chance, gate

PLACES = ("start", "middle", "end", "spread", "reversed")


def rates(one, *, short, kept, dependence, runs, seed=0, only_first=False):
    """How often each verdict comes, where the true share kept of the short score above chance is `kept`."""
    counts, random, level = Counts(one), np.random.default_rng(seed), chance(one)
    found = dict.fromkeys(("supported", "refuted", "inconclusive", "not applicable"), 0)
    for _ in range(runs):
        long = kept * short + (1 - kept) * level
        before, after = correlated(random, short, long, len(one.places), one.units, dependence)
        if only_first:
            other = correlated(random, short, short, len(one.places), one.units, dependence)
            before[1:], after[1:] = other[0][1:], other[1][1:]
        (length,) = one.lengths
        found[by_length(one, counts.tally(before, after, one.units))[length]] += 1
    return {name: count / runs for name, count in found.items()}


POINTS = [(1.0, 1.0), (0.95, 1.0), (0.95, 0.0), (0.6, 0.5)]


@pytest.mark.parametrize("units", LOOKS)
@pytest.mark.parametrize(("short", "dependence"), POINTS)
def test_what_is_kept_by_exactly_so_much_is_seldom_called_supported_or_refuted(units, short, dependence):
    found = rates(trial(units=units), short=short, kept=0.85, dependence=dependence, runs=120, seed=5)
    # 0.05 is allowed: of 120 such runs more than 13 come once in 500 times.
    assert found["supported"] <= 13 / 120
    assert found["refuted"] <= 13 / 120


@pytest.mark.slow
@pytest.mark.parametrize("units", LOOKS)
@pytest.mark.parametrize(("short", "dependence"), POINTS)
def test_the_whole_sequence_of_looks_keeps_its_error_rate_over_2000_runs(units, short, dependence):
    found = rates(trial(units=units), short=short, kept=0.85, dependence=dependence, runs=2000, seed=6)
    assert found["supported"] <= 0.05
    assert found["refuted"] <= 0.05


@pytest.mark.slow
def test_full_retention_is_found_in_nine_of_ten_runs_of_50():
    found = rates(trial(units=50), short=0.95, kept=1.0, dependence=1.0, runs=2000)
    assert found["supported"] >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("places", [2, 3, 5])
def test_the_worst_place_rule_keeps_both_error_rates(places):
    one = trial(units=100, places=PLACES[:places])
    every = rates(one, short=0.95, kept=0.85, dependence=0.7, runs=2000)
    assert every["refuted"] <= 0.05
    # One place is lost and all others are whole: the whole is as good as that one place.
    assert rates(one, short=0.95, kept=0.85, dependence=0.7, runs=2000, only_first=True)["supported"] <= 0.05


def test_a_longer_look_never_takes_a_verdict_back():
    one = trial(places=("start", "end"))
    counts, random = Counts(one), np.random.default_rng(3)
    seen = set()
    for kept in np.linspace(0.5, 1, 40):
        before, after = correlated(random, 0.9, 0.9 * kept, 2, 100, 0.8)
        said = {}
        for count in (0, 10, 24, 49, 50, 99, 100):
            for name, found in verdicts(one, counts.tally(before, after, count)).items():
                if said.get(name, "inconclusive") != "inconclusive":
                    assert found.verdict == said[name]
                said[name] = found.verdict
            for place in one.places:
                seen.add(gate(one, counts.tally(before, after, count), place).state)
        seen |= set(said.values())
    assert seen >= {"supported", "refuted", "inconclusive", "open", "undecided"}


def test_a_reader_with_a_window_reaches_its_window():
    one = trial(lengths=(512, 1024, 2048), places=("start", "end"))
    samples = drawn(one, lambda length, places, _: float(length <= 1024 or places == "end"))
    found = tally(one, samples)
    assert by_length(one, found) == {256: "supported", 512: "supported", 1024: "supported", 2048: "refuted"}
    assert reached(one, found) == 1024


def test_a_length_is_as_good_as_its_worst_place_and_needs_all_of_them():
    one = trial(places=("start", "middle", "end"))
    lost = tally(one, drawn(one, lambda length, places, _: float(length == 256 or places != "middle")))
    assert {p: verdicts(one, lost)[512, p].verdict for p in one.places} == {
        "start": "inconclusive",  # not asked further: the length is refuted already
        "middle": "refuted",
        "end": "inconclusive",
    }
    assert by_length(one, lost)[512] == "refuted"
    assert by_length(one, tally(one, drawn(one, lambda *_: 1.0)))[512] == "supported"


@pytest.mark.parametrize("score", [0.0, 0.17, 0.22])
def test_at_its_floor_a_trial_is_not_applicable_anywhere_and_nothing_longer_is_asked(score):
    one = trial(lengths=(512, 1024), places=("start", "end"))
    samples = drawn(one, lambda *_: score, seed=1)
    assert {sample.cell.length for sample in samples} == {256}
    assert set(by_length(one, tally(one, samples)).values()) == {"not applicable"}
    assert reached(one, tally(one, samples)) is None


@pytest.mark.parametrize("outcome", ["error", "refused"])
@pytest.mark.parametrize(
    "lost, right, verdict",
    [
        (24, 0, "inconclusive"),  # nothing was answered
        (12, 0, "inconclusive"),  # 12 of 24 may be: their bound, 0.34, is above the 0.27 that is needed
        (8, 0, "not applicable"),  # 8 of 24 would not be either: 0.20
        (8, 4, "inconclusive"),  # 12 of 24 again
        (0, 4, "not applicable"),
    ],
)
def test_what_was_not_answered_is_no_floor(outcome, lost, right, verdict):
    one = trial(places=("start", "end"), units=24, lengths=(512, 1024))

    def answer(request):
        ended = outcome if request.index < lost else "right" if request.index < lost + right else "wrong"
        return sampled(request, ended, why="the engine counted 250 prompt tokens, not 256" if ended == outcome else "")

    samples = run(one, answer)
    assert {sample.cell.length for sample in samples} == {256}  # no baseline: nothing longer is asked
    found = tally(one, samples)
    assert set(by_length(one, found).values()) == {verdict}
    assert reached(one, found) is None
    said = [claim for claim in claims(one, found) if claim.ability != STABILITY]
    assert [claim.verdict for claim in said] == [verdict]
    named = f"{lost} of 24 requests were refused or ended in an error; the first: the engine counted 250"
    assert (named in said[0].why) == (verdict == "inconclusive")


def test_a_place_at_its_floor_while_another_is_not_is_no_lack_of_the_ability():
    one = trial(places=("start", "end"))
    samples = drawn(one, lambda _, places, __: 0.95 if places == "end" else 0.1)
    found = tally(one, samples)
    assert {sample.cell.length for sample in samples} == {256}
    assert by_length(one, found)[256] == "refuted"
    assert verdicts(one, found)[256, "start"].against == "end"
    assert reached(one, found) is None


def test_places_near_the_floor_are_not_taken_for_lost_by_chance():
    one, random = trial(places=PLACES, units=24), np.random.default_rng(8)
    counts, refuted, closed = Counts(one), 0, 0
    for _ in range(150):
        before, after = correlated(random, 0.45, 0.45, 5, 24, 0.5)
        found = by_length(one, counts.tally(before, after, 24))
        refuted += found[256] == "refuted"
        closed += found[256] == "not applicable"
    assert closed > 50
    assert refuted <= 15  # 7.5 are allowed at 5 %; more than 15 come once in 200 times


@pytest.mark.parametrize(
    "given", [{"last": 24}, {"last": 75}, {"places": 0}, {"places": 6}], ids=["passed", "no look", "none", "too many"]
)
def test_looks_and_places_that_have_no_boundary_are_refused(given):
    with pytest.raises(InputError):
        retention(Pairs(50, 0, 0, 0), **given)


def test_more_places_make_refuting_harder_and_supporting_neither():
    found = [retention(Pairs(20, 20, 0, 10), places=places) for places in (1, 2, 3, 4, 5)]
    assert sorted((one.refuted_at for one in found), reverse=True) == [one.refuted_at for one in found]
    assert len({one.supported_at for one in found}) == 1
