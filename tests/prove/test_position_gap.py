import numpy as np
import pytest

from ordinate.errors import InputError
from ordinate.prove.plan import Plan
from ordinate.prove.position_gap import compare_gaps, gap_positions, read_gaps

PASSAGES = np.random.default_rng(2).integers(0, 256, (2, 101)).tolist()


def test_the_second_half_starts_at_the_distance():
    assert gap_positions(7, 3).tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert gap_positions(7, 50).tolist() == [0, 1, 2, 50, 51, 52, 53]


def test_halves_must_not_overlap():
    with pytest.raises(InputError, match="at least half the text, 3 tokens, got 2"):
        gap_positions(6, 2)


@pytest.mark.parametrize("prefix", [(), (256,)])
def test_losses_are_those_of_one_forward_pass_at_these_positions(model, full_losses, prefix):
    """The reference is given every token and a mask of ones: no block of the text is hidden from another."""
    found = read_gaps(model, PASSAGES, (50, 500, 900), prefix=prefix)
    # The first token of the second half is left out: it is predicted from before the gap.
    assert found.shape == (3, 2, 50)
    for row, distance in zip(found, (50, 500, 900), strict=True):
        positions = [*range(50), *range(distance, distance + 51)]
        for losses, passage in zip(row, PASSAGES, strict=True):
            expected = full_losses(model, [*prefix, *passage[len(prefix) :]], positions)[50:]
            np.testing.assert_allclose(losses, expected, atol=2e-4)
    assert np.abs(found[0] - found[2]).max() > 0.01


def test_the_first_half_is_seen_across_the_gap(model):
    other = [[*reversed(PASSAGES[0][:49]), *PASSAGES[0][49:]]]
    assert np.abs(read_gaps(model, PASSAGES[:1], (500,)) - read_gaps(model, other, (500,))).max() > 0.01


def test_blocks_do_not_reach_from_one_passage_into_the_next():
    # Passages of 3 scored tokens with means 1 and 3: two blocks of one passage each, error |3 - 1| / 2 = 1.
    chosen = Plan(64, 128, 100, (0, 100), (100,), 6, (16, 64), 4, 7, 2, (3, 64), block=4)
    losses = np.array([[[1.0, 1.0, 1.0], [3.0, 3.0, 3.0]], [[2.0, 2.0, 2.0], [3.0, 3.0, 3.0]]])
    found = compare_gaps(losses, losses + 1, chosen)
    assert (found.rows[0].loss.original.mean, found.rows[0].loss.original.standard_error) == (2.0, 1.0)
    assert [(row.distance, row.contiguous) for row in found.rows] == [(3, True), (64, False)]
    assert (found.changes[1].original.mean, found.changes[1].original.standard_error) == (0.5, 0.5)
    assert found.rows[1].loss.difference.mean == 1.0
    assert (found.passages, found.tokens) == (2, 7)
