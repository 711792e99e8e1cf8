"""The statistics of validation: error rates, power, and other people's numbers."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multinomial

from ordinate.errors import InputError
from ordinate.validate.statistics import (
    LOOKS,
    Pairs,
    effective_length,
    equivalent,
    floor,
    instances_needed,
    retention,
    score,
    stability,
)
from ordinate.validate.statistics.bootstrap import cluster_interval
from ordinate.validate.statistics.equivalence import _score

RETAINED = 0.85


def cells(short, long, dependence):
    """Probabilities of both, lost, gained, neither; dependence 0: as opposed as can be, 1: as equal as can be."""
    least, most = max(0.0, short + long - 1), min(short, long)
    both = least + dependence * (most - least)
    return np.clip([both, short - both, long - both, 1 - short - long + both], 0, 1)


def runs(probabilities, number, seed):
    """Simulated runs: the verdict at each look."""
    random, known, verdicts = np.random.default_rng(seed), {}, []
    for _ in range(number):
        total, seen = np.zeros(4, dtype=int), []
        for look, before in zip(LOOKS, (0, *LOOKS), strict=False):
            total = total + random.multinomial(look - before, probabilities / probabilities.sum())
            key = (*total.tolist(),)
            if key not in known:
                known[key] = key
            seen.append(key)
        verdicts.append(seen)
    return verdicts


def rates(probabilities, chance, number, seed, wanted):
    """How often each look, and any look up to the last, comes to the verdict."""
    made, decided = runs(probabilities, number, seed), {}

    def at(key):
        if key not in decided:
            decided[key] = retention(Pairs(*key), chance=chance).verdict == wanted
        return decided[key]

    table = np.array([[at(key) for key in run] for run in made])
    return [*table.mean(axis=0), table.any(axis=1).mean()]


@pytest.mark.parametrize("chance", [0.0, 0.25, 0.5])
@pytest.mark.parametrize("short, dependence", [(0.95, 0.5), (0.95, 1.0), (0.7, 0.5)])
def test_retention_of_exactly_what_is_asked_is_rarely_called_supported(short, dependence, chance):
    long = RETAINED * short + (1 - RETAINED) * chance
    number = 2000
    # Three standard errors of the simulation itself.
    allowed = 0.05 + 3 * np.sqrt(0.05 * 0.95 / number)
    found = rates(cells(short, long, dependence), chance, number, 7, "supported")
    assert max(found) <= allowed
    assert max(found) > 0.005


def test_the_usual_point_rule_would_pass_nearly_half_of_them():
    made = runs(cells(0.95, RETAINED * 0.95, 0.5), 2000, 7)
    passed = np.mean([Pairs(*run[1]).long >= RETAINED * Pairs(*run[1]).short for run in made])
    assert 0.35 < passed < 0.65


@pytest.mark.parametrize("short, dependence", [(0.95, 0.9), (0.8, 0.5)])
def test_exact_retention_is_rarely_refuted(short, dependence):
    found = rates(cells(short, RETAINED * short, dependence), 0.0, 2000, 11, "refuted")
    assert max(found) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)


def test_full_retention_is_mostly_found_after_fifty():
    # Half way between independent answers and the same answers.
    both = 0.95**2 + 0.5 * (0.95 - 0.95**2)
    probabilities = np.array([both, 0.95 - both, 0.95 - both, 1 - 1.9 + both])
    by_look = rates(probabilities, 0.0, 2000, 3, "supported")
    assert by_look[1] >= 0.9
    assert by_look[2] >= 0.99


def test_a_reader_that_loses_half_is_refuted():
    assert rates(cells(0.95, 0.475, 0.5), 0.0, 500, 5, "refuted")[3] > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("chance", [0.0, 0.1, 0.25, 0.33, 0.5])
def test_error_rates_hold_for_every_short_score_and_dependence(chance):
    for short in np.linspace(chance + 0.1, 1, 6):
        for dependence in (0.0, 0.5, 1.0):
            where = cells(short, RETAINED * short + (1 - RETAINED) * chance, dependence)
            for wanted in ("supported", "refuted"):
                assert rates(where, chance, 8000, 1, wanted)[3] <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 8000)


@pytest.mark.parametrize("seed", range(12))
def test_score_uses_the_likeliest_cells(seed):
    random = np.random.default_rng(seed)
    counts = random.multinomial(50, random.dirichlet(np.ones(4) * 0.7))
    chance = float(random.choice([0.0, 0.25]))
    offset = 0.15 * chance
    d = np.array([0.15, -0.85, 1.0, 0.0]) - offset
    found = minimize(
        lambda p: -multinomial.logpmf(counts, 50, np.clip(p, 1e-12, 1) / np.clip(p, 1e-12, 1).sum()),
        np.array([0.75, 0.16, 0.01, 0.08]),
        bounds=[(1e-9, 1)] * 4,
        constraints=[{"type": "eq", "fun": lambda p: p.sum() - 1}, {"type": "eq", "fun": lambda p: p @ d}],
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    expected = (counts @ d / 50) / np.sqrt(found.x @ d**2 / 50)
    assert score(Pairs(*counts.tolist()), chance=chance) == pytest.approx(expected, rel=2e-3, abs=1e-3)


def test_nothing_but_right_answers_is_not_infinitely_sure():
    # All right at both: the likeliest loss that would still mean 0.85 is 0.15, as in an exact binomial test.
    assert score(Pairs(24, 0, 0, 0)) == pytest.approx(0.15 / np.sqrt((0.85 * 0.15**2 + 0.15 * 0.85**2) / 24))
    # All lost: as likely as can be that 1 in 1.85 is lost, the others gained.
    assert score(Pairs(0, 24, 0, 0)) == pytest.approx(-0.85 / np.sqrt(0.85 / 24))
    assert score(Pairs(0, 0, 0, 24)) == 0.0


def test_scores_grow_with_every_answer_that_is_kept():
    scores = [score(Pairs(k, 50 - k, 0, 0)) for k in range(51)]
    assert all(a < b for a, b in pairwise(scores))


@pytest.mark.parametrize(
    "verdicts, expected",
    [
        ({1: "supported", 2: "supported", 4: "inconclusive", 8: "supported"}, 2),
        ({8: "supported", 4: "supported"}, 8),
        ({1: "refuted", 2: "supported"}, None),
        ({1: "not applicable"}, None),
        ({}, None),
    ],
)
def test_effective_length_stops_at_the_first_that_is_not_supported(verdicts, expected):
    assert effective_length(verdicts) == expected


def test_the_floor_is_above_chance_and_its_margin():
    # 12 of 16 looks good, and is what one in 26 readers gets who tosses a coin.
    assert not floor(12, 16, chance=0.5).above
    assert floor(23, 24, chance=0.5).above
    assert not floor(24, 24, chance=0.85).above
    assert floor(100, 100, chance=0.1).at_ceiling


def test_the_score_interval_of_a_difference_is_the_papers():
    # Bounds are where the score test of the paper is at its critical value.
    pairs = Pairs(both=10, lost=1, gained=9, neither=10)
    found = equivalent(pairs, margin=0.3, level=0.975)
    for bound in (found.low, found.high):
        assert abs(_score(9, 1, 30, bound)) == pytest.approx(1.959964, abs=1e-5)
    assert found.low < 8 / 30 < found.high
    assert not found.equivalent


@pytest.mark.parametrize("gained, lost, n", [(0, 0, 20), (5, 0, 5), (0, 5, 5), (3, 2, 40)])
def test_intervals_hold_the_difference_and_mirror(gained, lost, n):
    one = equivalent(Pairs(n - gained - lost, lost, gained, 0), margin=0.5)
    other = equivalent(Pairs(n - gained - lost, gained, lost, 0), margin=0.5)
    assert one.low <= (gained - lost) / n <= one.high
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-9)


def test_equivalence_needs_as_many_as_it_says():
    n, random, found = instances_needed(margin=0.05, discordant=0.1), np.random.default_rng(0), 0
    for _ in range(400):
        counts = random.multinomial(n, [0.85, 0.05, 0.05, 0.05])
        found += equivalent(Pairs(*counts.tolist()), margin=0.05).equivalent
    assert 0.72 < found / 400 < 0.88


def test_a_difference_of_the_margin_is_rarely_called_equivalent():
    random, found = np.random.default_rng(1), 0
    for _ in range(1000):
        counts = random.multinomial(400, [0.80, 0.10, 0.05, 0.05])
        found += equivalent(Pairs(*counts.tolist()), margin=0.05).equivalent
    assert found / 1000 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)


def test_a_reader_lost_in_the_middle_is_unstable():
    random = np.random.default_rng(0)
    right = random.random((50, 3)) < [0.95, 0.55, 0.95]
    found = stability(right, right, permutations=999)
    assert found.verdict == "unstable"
    assert found.gap == pytest.approx(right.mean(axis=0).max() - right.mean(axis=0).min())


def test_places_that_do_not_matter_are_rarely_called_unstable():
    random, unstable = np.random.default_rng(2), 0
    for run in range(200):
        hard = random.random((40, 1))
        right = random.random((40, 4)) < 0.4 + 0.6 * hard
        unstable += stability(right, right, permutations=199, seed=run).verdict == "unstable"
    assert unstable / 200 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_stable_is_said_only_where_it_is_proved():
    same = np.ones((400, 3), dtype=bool)
    assert stability(same, same, permutations=99).verdict == "stable"
    assert stability(same[:20], same[:20], permutations=99).verdict == "inconclusive"


def test_consistency_counts_answers_and_flips_count_verdicts():
    right = np.array([[True, True], [True, False], [False, False]])
    answers = np.array([["a", "a"], ["a", "b"], ["c", "d"]])
    found = stability(right, answers, permutations=9)
    assert (found.consistent, found.flips) == (pytest.approx(1 / 3), pytest.approx(1 / 3))


def test_cluster_intervals_hold_the_mean_as_often_as_they_say():
    random, held = np.random.default_rng(0), 0
    for run in range(300):
        books = random.normal(0, 1, 50)
        values = np.repeat(books, 10) + random.normal(0, 0.2, 500)
        _, low, high = cluster_interval(values, np.repeat(np.arange(50), 10), draws=499, seed=run)
        held += low <= 0 <= high
    # 0.95 less three standard errors of 300 runs.
    assert 0.91 < held / 300 < 0.99


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: retention(Pairs(10, 0, 0, 0)), "after 24, 50, 100 instances, got 10"),
        (lambda: retention(Pairs(24, 0, 0, 0), chance=1.0), "chance must be in"),
        (lambda: score(Pairs(0, 0, 0, 0)), "at least one pair"),
        (lambda: Pairs(-1, 0, 0, 0), "both must be an integer >= 0"),
        (lambda: equivalent(Pairs(1, 0, 0, 0), margin=0.0), "margin must be in"),
        (lambda: cluster_interval(np.ones(3), [0, 0, 0]), "at least two clusters"),
        (lambda: stability(np.ones((3, 1), bool), np.ones((3, 1))), "two places"),
    ],
)
def test_what_cannot_be_judged_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
