import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ordinate import InputError, positions

masks = arrays.arrays(
    np.int64, st.tuples(st.integers(1, 4), st.integers(0, 12)), elements=st.integers(0, 1), fill=st.nothing()
)


def test_left_padding_shifts_nothing():
    mask = [[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]]
    assert positions.from_mask(mask).tolist() == [[0, 0, 0, 1, 2], [0, 1, 2, 3, 4]]
    assert positions.from_mask(mask, masked=-1).tolist() == [[-1, -1, 0, 1, 2], [0, 1, 2, 3, 4]]


def test_right_padding_and_gaps_count_real_tokens_only():
    assert positions.from_mask([1, 1, 0, 0]).tolist() == [0, 1, 0, 0]
    assert positions.from_mask([1, 0, 1, 1], masked=-9).tolist() == [0, -9, 1, 2]


def test_the_next_token_follows_the_real_ones_of_its_own_row():
    mask = np.array([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    assert positions.after_mask(mask).tolist() == [[3], [5]]
    assert positions.after_mask(mask, tokens=3).tolist() == [[3, 4, 5], [5, 6, 7]]
    assert positions.after_mask([1, 0, 1]).tolist() == [2]


@given(masks)
def test_a_row_is_numbered_as_if_its_padding_were_not_there(mask):
    numbered = positions.from_mask(mask, masked=-1)
    assert numbered.dtype == np.int64
    assert numbered.shape == mask.shape
    for row, keep in zip(numbered, mask.astype(bool), strict=True):
        assert row[keep].tolist() == list(range(int(keep.sum())))
        assert (row[~keep] == -1).all()


@given(masks)
def test_steps_after_a_mask_continue_its_positions(mask):
    whole = np.concatenate([mask, np.ones((len(mask), 3), dtype=np.int64)], -1)
    assert (positions.after_mask(mask, 3) == positions.from_mask(whole)[:, -3:]).all()


def test_booleans_and_small_integers_are_masks_too():
    for kind in (bool, np.uint8, np.int32):
        assert positions.from_mask(np.array([0, 1, 1], dtype=kind)).tolist() == [0, 0, 1]


def test_ids_of_packed_documents_are_not_taken_for_a_mask():
    for function in (positions.from_mask, positions.after_mask):
        with pytest.raises(InputError, match=r"1 for a real token and 0 for padding, got 2; .*from_segments"):
            function([1, 1, 2, 2, 2, 0])


@pytest.mark.parametrize("value", [-1, 3])
def test_values_beside_0_and_1_are_refused(value):
    with pytest.raises(InputError, match=f"got {value}"):
        positions.from_mask([0, 1, value])


def test_additive_masks_and_other_shapes_are_refused():
    with pytest.raises(InputError, match="mask must hold integers, got dtype float64"):
        positions.from_mask([0.0, -np.inf])
    with pytest.raises(InputError, match="mask must have 1 or 2 axes"):
        positions.from_mask(np.ones((1, 1, 2, 2), dtype=int))
    with pytest.raises(InputError, match="mask must have 1 or 2 axes"):
        positions.from_mask(1)
    with pytest.raises(InputError, match="tokens must be an integer >= 1, got 0"):
        positions.after_mask([1, 1], tokens=0)
