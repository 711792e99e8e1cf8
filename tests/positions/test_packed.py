import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ordinate import InputError, positions

lengths = st.lists(st.integers(0, 7), max_size=6)


def test_each_document_starts_again_from_0():
    assert positions.from_lengths([3, 2]).tolist() == [0, 1, 2, 0, 1]
    assert positions.from_cu_seqlens([0, 3, 5]).tolist() == [0, 1, 2, 0, 1]
    assert positions.segments([3, 2]).tolist() == [0, 0, 0, 1, 1]


@given(lengths)
def test_packed_positions_are_ranges_end_to_end(counts):
    expected = [position for count in counts for position in range(count)]
    ends = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int32)
    for found in (positions.from_lengths(counts), positions.from_cu_seqlens(ends)):
        assert found.dtype == np.int64
        assert found.tolist() == expected
    assert positions.segments(counts).tolist() == [n for n, count in enumerate(counts) for _ in range(count)]


@given(lengths)
def test_segments_of_lengths_give_the_same_positions(counts):
    assert (positions.from_segments(positions.segments(counts)) == positions.from_lengths(counts)).all()


def test_packed_masks_are_read_as_ids():
    ids = [1, 1, 2, 2, 2, 0]
    assert positions.from_segments(ids, padding=0).tolist() == [0, 1, 0, 1, 2, 0]
    assert positions.from_segments(ids, padding=0, masked=-1).tolist() == [0, 1, 0, 1, 2, -1]
    # Without a padding id, 0 is a document as any other.
    assert positions.from_segments([0, 0, 1, 0]).tolist() == [0, 1, 0, 2]


@given(arrays.arrays(np.int64, st.tuples(st.integers(1, 3), st.integers(0, 12)), elements=st.integers(-2, 2)))
def test_a_position_is_the_number_of_earlier_tokens_of_its_document(ids):
    found = positions.from_segments(ids, padding=-2, masked=-7)
    assert found.dtype == np.int64
    for row, given_ids in zip(found.tolist(), ids.tolist(), strict=True):
        expected = [-7 if v == -2 else given_ids[:t].count(v) for t, v in enumerate(given_ids)]
        assert row == expected


def test_a_batch_of_ids_is_numbered_row_by_row():
    assert positions.from_segments([[1, 1, 2], [2, 2, 2]]).tolist() == [[0, 1, 0], [0, 1, 2]]


def test_impossible_packings_are_refused():
    with pytest.raises(InputError, match="lengths must be >= 0, got -2"):
        positions.from_lengths([3, -2])
    with pytest.raises(InputError, match="cu_seqlens must start at 0, got \\[1\\]"):
        positions.from_cu_seqlens([1, 3])
    with pytest.raises(InputError, match="cu_seqlens must start at 0, got \\[\\]"):
        positions.from_cu_seqlens([])
    with pytest.raises(InputError, match="cu_seqlens must never fall, got 5 then 4"):
        positions.from_cu_seqlens([0, 0, 5, 4, 9])
    with pytest.raises(InputError, match="cu_seqlens must hold integers"):
        positions.from_cu_seqlens([0.0, 1.0])
    with pytest.raises(InputError, match="lengths must hold integers, got dtype float64"):
        positions.from_lengths([1.5])
    with pytest.raises(InputError, match="lengths must have 1 axes"):
        positions.segments([[1, 2]])
    with pytest.raises(InputError, match="ids must have 1 or 2 axes"):
        positions.from_segments(3)
