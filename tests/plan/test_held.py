"""How many tokens a layer keeps, against a cache that is counted token by token."""

import itertools

import pytest

from ordinate.errors import InputError
from ordinate.plan import Holding, held


def counted(tokens, window, how):
    """The tokens that are kept, one by one."""
    kept = {t for t in range(tokens) if window is None or t >= tokens - window}
    if how.recent is None:
        return kept
    return {t for t in kept if t < how.sinks or t >= tokens - how.recent}


@pytest.mark.parametrize(
    "tokens, batch, window", list(itertools.product((0, 1, 5, 16, 17, 100), (1, 3), (None, 1, 8, 200)))
)
def test_without_pages_the_tokens_that_are_seen_are_kept(tokens, batch, window):
    how = Holding()
    found = held(tokens, batch, window, how)
    assert found.tokens == found.room == batch * len(counted(tokens, window, how))


@pytest.mark.parametrize("tokens", [1, 8, 9, 100])
def test_between_two_steps_a_window_lacks_the_next_token(tokens):
    assert held(tokens, 1, 8, Holding(between_steps=True)).tokens == min(tokens, 7)


@pytest.mark.parametrize("tokens", [1, 100])
def test_the_other_allocator_has_memory_for_the_whole_length(tokens):
    assert held(tokens, 2, 8, Holding(allocator="full")).room == 2 * tokens


@pytest.mark.parametrize("tokens, sinks, recent", [(3, 4, 10), (14, 4, 10), (15, 4, 10), (1000, 4, 10), (1000, 0, 10)])
def test_eviction_leaves_the_first_and_the_last(tokens, sinks, recent):
    how = Holding(sinks=sinks, recent=recent)
    assert held(tokens, 1, None, how).tokens == len(counted(tokens, None, how))


@pytest.mark.parametrize("page", [1, 7, 16, 128])
@pytest.mark.parametrize("tokens", [1, 15, 16, 17, 1000])
def test_pages_are_whole(page, tokens):
    pages = len({token // page for token in range(tokens)})
    found = held(tokens, 3, None, Holding(page_size=page))
    assert (found.tokens, found.room) == (3 * tokens, 3 * pages * page)
    assert 0 <= found.room - found.tokens < 3 * page


@pytest.mark.parametrize("page, window", [(1, 8), (4, 8), (16, 8), (16, 33), (5, 11)])
def test_a_window_that_slides_lies_across_as_many_pages_as_at_worst(page, window):
    worst = max(len({t // page for t in range(end - window, end)}) for end in range(window + 1, window + 1 + 4 * page))
    assert held(10_000, 1, window, Holding(page_size=page)).room == worst * page


@pytest.mark.parametrize("page, sinks, recent", [(4, 4, 8), (16, 4, 40), (1, 4, 8)])
def test_sinks_stay_in_their_page_while_the_rest_slides(page, sinks, recent):
    worst = max(
        len({t // page for t in (*range(sinks), *range(end - recent, end))}) for end in range(1000, 1000 + 2 * page)
    )
    assert held(10_000, 1, None, Holding(page_size=page, sinks=sinks, recent=recent)).room == worst * page


@pytest.mark.parametrize("page", [None, 16])
def test_a_shared_prefix_is_kept_once(page):
    # 8 sequences of 1,000 tokens, of which 500 are the same: 496 in whole pages of 16
    shared = 500 if page is None else 496
    found = held(1000, 8, None, Holding(page_size=page, shared_prefix=500))
    assert found.tokens == shared + 8 * (1000 - shared)
    if page:
        assert found.room == shared + 8 * 512  # the rest of 504 tokens is in 32 pages


def test_a_window_that_has_left_the_prefix_shares_nothing():
    assert held(1000, 8, 100, Holding(shared_prefix=500)).tokens == 8 * 100
    # at 550 tokens the window of 100 still has 50 of it
    assert held(550, 8, 100, Holding(shared_prefix=500)).tokens == 50 + 8 * 50


@pytest.mark.parametrize("ranks, expected", [(1, 1001), (4, 251), (7, 143)])
def test_context_parallel_ranks_share_the_tokens(ranks, expected):
    assert held(1001, 1, None, Holding(context_ranks=ranks)).tokens == expected


def test_a_window_may_lie_on_one_rank():
    assert held(10_000, 1, 100, Holding(context_ranks=4)).tokens == 100


@pytest.mark.parametrize(
    "settings, said",
    [
        ({"allocator": "other"}, "allocator must be one of window, full"),
        ({"page_size": 0}, "page_size"),
        ({"sinks": 4}, "give the recent tokens too"),
        ({"recent": 0}, "recent"),
        ({"recent": 4, "shared_prefix": 4}, "a shared prefix is not evicted"),
    ],
)
def test_what_does_not_go_together_is_refused(settings, said):
    with pytest.raises(InputError, match=said):
        Holding(**settings)
