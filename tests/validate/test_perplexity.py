"""Perplexities, against models whose losses are known."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from ordinate.errors import InputError
from ordinate.prove.statistics import estimate
from ordinate.validate.perplexity import key_tokens, long_perplexity, loss_by_position, read_sliding, windows


def copies(ids: Sequence[int], last: int) -> np.ndarray:
    """A model that knows what stood before: a token costs 0.5 where it is among the earlier ones, else 3."""
    return np.array([0.5 if ids[i] in ids[:i] else 3.0 for i in range(len(ids) - last, len(ids))])


@pytest.mark.parametrize(
    ("tokens", "length", "stride"), [(2, 2, 1), (10, 6, 3), (300, 64, 17), (63, 64, 8), (65, 64, 8)]
)
def test_every_token_but_the_first_is_scored_once_behind_enough(tokens: int, length: int, stride: int) -> None:
    rows = windows(tokens, length, stride)
    scored = [token for row in rows for token in range(row.first, row.stop)]
    assert scored == list(range(1, tokens))
    for row in rows:
        assert row.stop - row.start == min(length, tokens)
        assert row.stop - row.first <= (length if row is rows[0] else stride)
        assert row is rows[0] or row.first - row.start >= length - stride


def test_a_sliding_perplexity_is_the_one_of_windows_read_by_hand() -> None:
    ids = np.random.default_rng(3).integers(0, 60, 500).tolist()
    length, stride = 100, 20
    found = read_sliding(copies, ids, length, stride=stride)
    assert found.places.tolist() == list(range(1, 500))
    for place, context, loss in zip(found.places, found.context, found.losses, strict=True):
        before = ids[place - context : place]
        assert loss == (0.5 if ids[place] in before else 3.0)
        assert context >= min(place, length - stride)
    assert found.perplexity() == pytest.approx(math.exp(found.losses.mean()), rel=1e-12)
    late = found.perplexity(behind=length - stride)
    assert late == pytest.approx(math.exp(found.losses[79:].mean()), rel=1e-12)
    assert late < found.perplexity()  # early tokens cost more for want of context


def test_a_shorter_stride_leaves_each_token_more_context() -> None:
    ids = np.random.default_rng(4).integers(0, 90, 600).tolist()
    long, short = (read_sliding(copies, ids, 100, stride=stride).perplexity() for stride in (99, 1))
    assert short < long


def test_loss_by_position_is_the_mean_between_edges() -> None:
    losses = np.random.default_rng(5).random(400)
    found = loss_by_position(losses, [0, 100, 250, 400], block=16)
    assert [(part.start, part.stop) for part in found] == [(0, 100), (100, 250), (250, 400)]
    assert found[0].loss.mean == pytest.approx(losses[1:100].mean())
    assert found[1].loss == estimate(losses[100:250], np.arange(100, 250), 16)
    for edges in ([0], [0, 401], [10, 10], [5, 3], [-1, 4], [0, 1, 5]):
        with pytest.raises(InputError, match="edges must rise"):
            loss_by_position(losses, edges)


def test_key_tokens_are_those_that_the_long_context_tells() -> None:
    """A word told long ago is one; one that is near, one that nothing tells, and one that is easy are none."""
    far, near, new, easy = (0.2, 4.0), (0.2, 0.2), (5.0, 5.0), (0.1, 1.0)
    hard_still = (2.5, 6.0)
    long, short = zip(far, near, new, easy, hard_still, strict=True)
    keys = key_tokens(long, short)
    assert keys.tolist() == [True, False, False, False, False]
    assert long_perplexity(long, keys) == pytest.approx(math.exp(0.2))
    assert long_perplexity(short, keys) == pytest.approx(math.exp(4.0))
    assert long_perplexity(long, np.zeros(5, dtype=bool)) is None


def test_a_model_that_forgets_is_told_by_key_tokens_more_than_by_all() -> None:
    generator = np.random.default_rng(6)
    names = list(range(1000, 1040))
    ids = [*names, *generator.integers(0, 50, 960).tolist()]
    ids[900:940] = names
    whole = np.concatenate([[3.0], copies(ids, 999)])
    short = np.array([3.0 if i == 0 else copies(ids[max(0, i - 200) : i + 1], 1)[0] for i in range(1000)])
    keys = key_tokens(whole, short)
    assert set(range(900, 940)) <= set(np.flatnonzero(keys).tolist())
    kept, forgot = (long_perplexity(losses, keys) for losses in (whole, short))
    assert kept is not None
    assert forgot is not None
    assert forgot / kept > 5 * math.exp(short.mean() - whole.mean())


def test_what_makes_no_sense_is_refused() -> None:
    for arguments in ((1, 4, 2), (10, 4, 4), (10, 4, 0)):
        with pytest.raises(InputError):
            windows(*arguments)
    with pytest.raises(InputError, match="losses of 3 tokens, got"):
        read_sliding(lambda ids, _: np.ones(len(ids)), [1, 2, 3, 4], 4, stride=2)
    with pytest.raises(InputError, match="must be finite, got nan"):
        read_sliding(lambda _, last: np.full(last, np.nan), [1, 2, 3, 4], 4, stride=2)
    with pytest.raises(InputError, match="of the same tokens"):
        key_tokens([1.0], [1.0, 2.0])
    with pytest.raises(InputError, match="must say of each"):
        long_perplexity([1.0, 2.0], np.array([True]))
    with pytest.raises(InputError, match="behind must be at most 3"):
        read_sliding(lambda _, last: np.ones(last), [1, 2, 3, 4], 4, stride=2).perplexity(behind=4)
