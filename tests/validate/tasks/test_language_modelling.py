"""Passages of language modelling: exact lengths, the same target, three contexts."""

from itertools import pairwise

import pytest

from ordinate.errors import InputError
from ordinate.validate.tasks.language_modelling import CONTEXTS, LanguageModelling, Passage

DOCUMENTS = [list(range(1000, 2200)), list(range(3000, 4500)), list(range(5000, 6100))]
TASK = LanguageModelling(target=64, block=16)
PASSAGES = TASK.passages([len(document) for document in DOCUMENTS], [128, 512, 1024], targets=2)


def ids(passage: Passage) -> tuple[int, ...]:
    return TASK.ids(passage, DOCUMENTS, bos=(1,))


def test_every_target_stands_behind_every_context_at_every_length() -> None:
    assert len(PASSAGES) == 3 * 2 * len(CONTEXTS) * 3
    assert len({(passage.document, passage.target) for passage in PASSAGES}) <= 6
    assert TASK.passages([len(document) for document in DOCUMENTS], [1024, 512, 128], targets=2) == PASSAGES


def test_lengths_are_exact_and_the_target_is_the_same() -> None:
    for passage in PASSAGES:
        found = ids(passage)
        assert len(found) == passage.length
        assert found[0] == 1
        assert list(found[-64:]) == DOCUMENTS[passage.document][slice(*passage.target)]


def test_contexts_are_what_they_say() -> None:
    for passage in PASSAGES:
        before, start = list(ids(passage)[1:-64]), passage.target[0]
        real = DOCUMENTS[passage.document][start - len(before) : start]
        if passage.context == "real":
            assert before == real
        elif passage.context == "shuffled":
            assert before != real
            assert sorted(before) == real
            kept = sum(b - a == 1 for a, b in pairwise(before))
            assert kept >= len(before) * 15 // 16 - 2
        else:
            assert set(before) <= set(DOCUMENTS[(passage.document + 1) % 3])


def test_a_longer_real_context_ends_with_the_shorter() -> None:
    real = {passage.length: ids(passage)[1:] for passage in PASSAGES[:9] if passage.context == "real"}
    assert real[1024][-127:] == real[128]


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(InputError, match="at least 2 documents"):
        TASK.passages([4000], [128])
    with pytest.raises(InputError, match="exceed the target's 64"):
        TASK.passages([4000, 4000], [64])
    with pytest.raises(InputError, match="at least 1024 tokens"):
        TASK.passages([4000, 1000], [1024])
