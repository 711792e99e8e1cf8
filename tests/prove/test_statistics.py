import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ordinate.errors import InputError
from ordinate.prove.statistics import compared, estimate, wilson


@given(st.data())
def test_wilson_equals_scipy(data):
    trials = data.draw(st.integers(1, 500))
    successes = data.draw(st.integers(0, trials))
    level = data.draw(st.sampled_from([0.5, 0.9, 0.95, 0.999]))
    expected = stats.binomtest(successes, trials).proportion_ci(level, method="wilson")
    assert wilson(successes, trials, level) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_reaches_zero_and_one_exactly():
    assert wilson(0, 7)[0] == 0.0
    assert wilson(7, 7)[1] == 1.0


@pytest.mark.parametrize("successes, trials, level", [(1, 0, 0.95), (3, 2, 0.95), (-1, 2, 0.95), (1, 2, 1.0)])
def test_wilson_refuses_impossible_counts(successes, trials, level):
    with pytest.raises(InputError):
        wilson(successes, trials, level)


def test_blocks_of_one_token_give_the_usual_standard_error():
    losses = np.random.default_rng(0).gamma(2.0, size=100)
    found = estimate(losses, np.arange(100), block=1)
    assert found.mean == pytest.approx(losses.mean())
    assert found.standard_error == pytest.approx(stats.sem(losses))
    assert found.tokens == 100


def test_equal_blocks_give_the_standard_error_of_their_means():
    losses = np.random.default_rng(1).gamma(2.0, size=(12, 8))
    found = estimate(losses.ravel(), np.arange(96), block=8)
    assert found.standard_error == pytest.approx(stats.sem(losses.mean(axis=1)))


def test_unequal_blocks_are_weighted_by_their_tokens():
    # Blocks {1, 2, 3} and {6}: mean 3; deviations of the sums 6 - 9 = -3 and 6 - 3 = 3; sqrt(2 * 18) / 4 = 1.5.
    found = estimate(np.array([1.0, 2.0, 3.0, 6.0]), np.array([8, 9, 10, 100]), block=8)
    assert (found.mean, found.standard_error) == (3.0, 1.5)


def test_one_block_has_no_standard_error():
    assert estimate(np.array([1.0, 2.0]), np.array([64, 127]), block=64).standard_error is None


def test_blocks_know_that_neighbours_are_alike():
    """Neighbours correlate by 0.8; blocks of 64 find the true error of the mean, single tokens a third of it."""
    generator = np.random.default_rng(2)
    series = generator.normal(size=(600, 1024))
    for token in range(1, 1024):
        series[:, token] = 0.8 * series[:, token - 1] + 0.6 * series[:, token]
    true = series.mean(axis=1).std()
    by_block = np.mean([estimate(one, np.arange(1024), block=64).standard_error for one in series])
    by_token = np.mean([estimate(one, np.arange(1024), block=1).standard_error for one in series])
    assert by_block == pytest.approx(true, rel=0.12)
    assert by_token < 0.4 * true


def test_how_hard_a_passage_is_cancels_from_the_difference():
    generator = np.random.default_rng(3)
    places = np.arange(512)
    gain = generator.normal(-0.5, 0.1, 512)
    hard = np.repeat(generator.normal(0, 5.0, 8), 64)
    found = compared(3.0 + hard, 3.0 + hard + gain, places, block=64)
    alone = estimate(gain, places, block=64)
    assert found.difference.mean == pytest.approx(alone.mean)
    assert found.difference.standard_error == pytest.approx(alone.standard_error)
    assert found.original.standard_error > 20 * found.difference.standard_error
    assert found.extended.mean - found.original.mean == pytest.approx(found.difference.mean)


@pytest.mark.parametrize("losses, places", [([], []), ([1.0], [1, 2]), ([[1.0]], [[1]])])
def test_losses_and_places_must_fit(losses, places):
    with pytest.raises(InputError):
        estimate(np.array(losses), np.array(places), block=4)
