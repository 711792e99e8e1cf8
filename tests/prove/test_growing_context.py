import numpy as np
import pytest

from ordinate.errors import InputError
from ordinate.prove.growing_context import compare_contexts, read_growing_context
from ordinate.prove.plan import Plan

TEXT = np.random.default_rng(1).integers(0, 256, 600).tolist()


@pytest.mark.parametrize("prefix", [(), (256,)])
def test_each_prompt_is_the_end_of_the_text_read_from_position_zero(model, full_losses, prefix):
    found = read_growing_context(model, TEXT, (100, 200, 600), 50, prefix=prefix)
    assert found.shape == (3, 50)
    for row, length in zip(found, (100, 200, 600), strict=True):
        expected = full_losses(model, [*prefix, *TEXT[600 - length + len(prefix) :]])[-50:]
        np.testing.assert_allclose(row, expected, atol=2e-4)
    assert np.abs(found[0] - found[2]).max() > 0.01


def test_progress_runs_over_all_prompts(model):
    told = []
    read_growing_context(model, TEXT, (100, 600), 50, progress=lambda *call: told.append(call[1:]))
    assert told == [(100, 700), (700, 700)]


@pytest.mark.parametrize("lengths", [(50, 100), (100, 601)])
def test_prompts_without_context_or_longer_than_the_text_are_refused(model, lengths):
    with pytest.raises(InputError, match="more than 50 and at most the text's 600"):
        read_growing_context(model, TEXT, lengths, 50)


def test_changes_are_against_the_shortest_prompt_of_the_same_model():
    chosen = Plan(64, 128, 100, (0, 100), (100,), 6, (16, 64), 4, 64, 1, (32,), context_block=2)
    original = np.array([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 1.0, 1.0]])
    extended = np.array([[2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 3.0, 3.0]])
    found = compare_contexts(original, extended, chosen)
    assert [(row.length, row.context) for row in found.rows] == [(16, 12), (64, 60)]
    assert [row.loss.difference.mean for row in found.rows] == [-0.5, 2.0]
    assert found.changes[0].original.mean == found.changes[0].original.standard_error == 0.0
    # Original: -1, -2 | -2, -3, in blocks of two with means -1.5 and -2.5.
    assert (found.changes[1].original.mean, found.changes[1].original.standard_error) == (-2.0, 0.5)
    assert (found.changes[1].extended.mean, found.changes[1].extended.standard_error) == (0.5, 0.5)
