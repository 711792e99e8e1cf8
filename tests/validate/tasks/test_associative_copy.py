"""Blocks of tokens: exact lengths and distances, decoys that only the whole key tells apart, gains in nats."""

from typing import Any

import numpy as np
import pytest

from ordinate.errors import InputError
from ordinate.validate.instances import CONTROLS
from ordinate.validate.readers.copying import SuffixReader
from ordinate.validate.tasks.associative_copy import AssociativeCopy, Copy

TASK = AssociativeCopy()
VOCABULARY = range(3, 1003)


def copy(index: int, length: int = 256, distance: int = 120, **given: Any) -> Copy:
    return TASK.instance(0, index, length=length, distance=distance, vocabulary=VOCABULARY, bos=(1,), **given)


@pytest.mark.parametrize("length", [128, 129, 1000, 8192])
def test_length_and_distance_are_exact(length: int) -> None:
    for distance in (40, length // 2, length - 33):
        made = copy(2, length, distance)
        assert made.first is not None
        assert len(made.ids) == length
        assert len(made.ids) - made.first[0] == distance
        assert made.ids[slice(*made.first)] == made.answer
        assert made.ids[made.first[0] - 2 : made.first[0]] == made.ids[-2:]
        assert made.ids[0] == 1
        assert set(made.ids[1:]) <= set(VOCABULARY)


def test_the_same_blocks_stand_at_every_length() -> None:
    small, large = copy(4, 256, 120), copy(4, 2048, 1500)
    assert small.answer == large.answer
    assert small.ids[-2:] == large.ids[-2:]


def test_all_keys_end_alike_and_no_token_of_a_block_stands_elsewhere() -> None:
    for index in range(20):
        made = copy(index)
        blocks = [made.ids[start : start + 10] for start in made.blocks]
        assert len({block[1] for block in blocks}) == 1
        assert len({block[0] for block in blocks}) == 4
        outside = list(made.ids[1:-2])
        for start in sorted(made.blocks, reverse=True):
            del outside[start - 1 : start + 9]
        assert not set(outside) & {token for block in blocks for token in block}


def test_the_whole_key_is_needed() -> None:
    """The last token alone leads to the nearest block, which is the asked one in a quarter of the instances."""
    whole = ends = 0
    for index in range(800):
        made = copy(index)
        whole += TASK.score(SuffixReader(8).continue_ids(made.ids), made).right
        ends += TASK.score(SuffixReader(8, longest=1).continue_ids(made.ids), made).right
    assert whole == 800
    assert abs(ends / 800 - TASK.chance()) < 0.05


@pytest.mark.slow
def test_the_last_token_stays_within_three_points_of_chance() -> None:
    from ordinate.prove.statistics import wilson

    for length, distance in ((256, 120), (512, 460)):
        made = [copy(index, length, distance) for index in range(4000)]
        reader = SuffixReader(8, longest=1)
        won = sum(TASK.score(reader.continue_ids(one.ids), one).right for one in made)
        assert wilson(won, 4000, 0.9)[1] <= TASK.chance() + 0.03


def test_a_window_reaches_exactly_its_distance() -> None:
    for length in (256, 512, 1024, 2048):
        made = copy(1, length, length - 60)
        said = SuffixReader(8, window=512).continue_ids(made.ids)
        assert TASK.score(said, made).right == (length <= 512)


def test_controls() -> None:
    made = copy(3)
    whole = SuffixReader(8, longest=2)
    shown = {name: copy(3, control=name) for name in CONTROLS}
    for name, control in shown.items():
        assert len(control.ids) == len(made.ids)
        assert control.ids[-2:] == made.ids[-2:]
        found = TASK.score(whole.continue_ids(control.ids), control).right
        assert found == (name not in ("no_context", "evidence_removed"))
    assert shown["evidence_swapped"].answer != made.answer != shown["altered_answers"].answer
    assert shown["evidence_swapped"].blocks == made.blocks
    changed = [a != b for a, b in zip(made.ids, shown["evidence_swapped"].ids, strict=True)]
    assert sum(changed) == 16
    assert not shown["no_context"].blocks
    assert len(shown["evidence_only"].blocks) == 1
    with pytest.raises(InputError, match="no first copy"):
        shown["no_context"].gain(np.zeros(len(made.scored)))


def test_gain_is_the_first_copys_loss_less_the_seconds() -> None:
    made = copy(0)
    losses = np.full(len(made.scored), 7.0)
    losses[-8:] = 0.5
    assert made.gain(losses) == pytest.approx(6.5)
    with pytest.raises(InputError, match="all 264 tokens"):
        made.gain(losses[:-1])


def test_score_wants_each_token() -> None:
    made = copy(0)
    assert TASK.score([*made.answer, 5, 6], made).right
    assert TASK.score(made.answer[:-1], made).why == "too few tokens"
    assert TASK.score([*made.answer[:-1], made.answer[0]], made).why == "other tokens"


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"distance": 20}, "distance must be between"),
        ({"distance": 250}, "distance must be between"),
        ({"control": "nothing"}, "control"),
        ({"pairs": 1}, "pairs must be >= 2"),
        ({"blocks": 3}, "no difficulty 'blocks'"),
        ({"value": 200}, "vocabulary must hold"),
    ],
)
def test_what_does_not_go_together_is_refused(given: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        copy(0, **given)
