import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate import InputError, positions

layouts = st.sampled_from(positions.LAYOUTS)


@pytest.mark.parametrize(
    "layout, expected",
    [
        ("contiguous", [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ("head-tail", [[0, 1, 6, 7], [2, 3, 4, 5]]),
        ("striped", [[0, 2, 4, 6], [1, 3, 5, 7]]),
    ],
)
def test_eight_tokens_over_two_ranks(layout, expected):
    row = positions.arange(8)
    assert [positions.shard(row, 2, rank, layout).tolist() for rank in range(2)] == expected
    assert positions.shard_indices(8, 2, layout).tolist() == expected
    assert positions.unshard(expected, layout).tolist() == row.tolist()


def test_head_tail_over_three_ranks_pairs_the_ends():
    assert positions.shard_indices(6, 3, "head-tail").tolist() == [[0, 5], [1, 4], [2, 3]]


@given(layouts, st.integers(1, 4), st.integers(0, 3), st.integers(0, 2))
def test_parts_together_are_the_whole_again(layout, ranks, runs, axis):
    tokens = 2 * ranks * runs
    shape = [3, 2, 2]
    shape[axis] = tokens
    whole = np.random.default_rng(tokens).integers(0, 99, shape).astype(np.int32)
    for spelled in (axis, axis - 3):
        parts = [positions.shard(whole, ranks, rank, layout, axis=spelled) for rank in range(ranks)]
        assert all(part.shape[axis] == tokens // ranks for part in parts)
        together = positions.unshard(parts, layout, axis=spelled)
        assert together.dtype == whole.dtype
        assert (together == whole).all()


@given(st.integers(1, 6), st.integers(1, 4))
def test_head_tail_gives_every_rank_the_same_causal_work(ranks, runs):
    work = positions.shard_indices(2 * ranks * runs, ranks, "head-tail").sum(1)
    assert len(set(work.tolist())) == 1


def test_the_last_axis_is_cut_where_positions_have_three_axes():
    ids = np.arange(3 * 2 * 8).reshape(3, 2, 8)
    part = positions.shard(ids, 2, 0, "head-tail")
    assert part.shape == (3, 2, 4)
    assert (part == ids[:, :, [0, 1, 6, 7]]).all()


def test_a_shard_is_a_copy():
    row = positions.arange(4)
    part = positions.shard(row, 1, 0, "contiguous")
    part[0] = 9
    assert row[0] == 0


def test_rows_that_do_not_divide_are_refused():
    with pytest.raises(InputError, match="tokens must be a multiple of 4 for 2 ranks, layout head-tail, got 6"):
        positions.shard(range(6), 2, 0, "head-tail")
    with pytest.raises(InputError, match="tokens must be a multiple of 2 for 2 ranks, layout striped, got 5"):
        positions.shard(range(5), 2, 0, "striped")
    with pytest.raises(InputError, match="tokens must be a multiple of 2 for 2 ranks, layout contiguous, got 5"):
        positions.shard(range(5), 2, 0, "contiguous")


def test_ranks_axes_and_layouts_that_are_not_there_are_refused():
    with pytest.raises(InputError, match="layout must be one of contiguous, head-tail, striped, got 'zigzag'"):
        positions.shard(range(8), 2, 0, "zigzag")
    with pytest.raises(InputError, match="rank must be below ranks 2, got 2"):
        positions.shard(range(8), 2, 2, "striped")
    with pytest.raises(InputError, match="rank must be an integer >= 0, got -1"):
        positions.shard(range(8), 2, -1, "striped")
    with pytest.raises(InputError, match="ranks must be an integer >= 1, got 0"):
        positions.shard(range(8), 0, 0, "striped")
    with pytest.raises(InputError, match="tokens must be an integer >= 0, got -2"):
        positions.shard_indices(-2, 1, "striped")
    for axis in (1, -2):
        with pytest.raises(InputError, match=f"axis must be one of the array's 1, got {axis}"):
            positions.shard(range(8), 2, 0, "striped", axis=axis)
        with pytest.raises(InputError, match=f"axis must be one of the parts' 1, got {axis}"):
            positions.unshard([[0], [1]], "striped", axis=axis)
    with pytest.raises(InputError, match=r"axis must be one of the array's 0, got -1"):
        positions.shard(3, 1, 0, "striped")


def test_parts_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"at least one and of equal shape, got \[\]"):
        positions.unshard([], "striped")
    with pytest.raises(InputError, match=r"of equal shape, got \[\[1\], \[2\]\]"):
        positions.unshard([[0], [1, 2]], "striped")
    with pytest.raises(InputError, match="multiple of 4"):
        positions.unshard([[0, 1, 2], [3, 4, 5]], "head-tail")
