"""Whether a log-probability that hardly moves tells that a part of the text was not read."""

from types import SimpleNamespace

import pytest

from ordinate.audit.server.canaries import TAIL
from ordinate.validate.accepts.answered import Answered
from ordinate.validate.accepts.canaries import Canaries
from ordinate.validate.accepts.changes import Changes
from ordinate.validate.tokenizers import ByteTokenizer

LENGTH = 900


def read(repeats, other):
    """What is told where the same prompt scores `repeats` and another text `other`, and no answer changes."""
    canaries = Canaries(ByteTokenizer(), mode="base", seed=0)
    marked = canaries.write(LENGTH, 0)
    scores = {marked.prompts[TAIL].ids: list(repeats)}
    backend = SimpleNamespace(
        offers={"choices"},
        choices=lambda prompt, _options: (scores[prompt.ids].pop(0) if scores.get(prompt.ids) else other,),
    )
    replies = tuple(SimpleNamespace(text=" 12345") for _ in marked.prompts)
    changes = Changes(backend, canaries, lambda *_: SimpleNamespace(text=" 12345"), lambda: None)
    answered = Answered(marked, replies, 5, "base")
    return changes._change(answered, canaries.write(LENGTH, 1, other=True), 2)


@pytest.mark.parametrize(
    ("repeats", "other", "told"),
    [
        ((-3.7, -3.7), -3.7, False),  # nothing moves where nothing moves by itself
        ((-3.7, -3.7), -3.73, True),
        # llama.cpp with SmolLM2: the same prompt differs by 0.05, and a text far away moves it by 0.03
        ((-3.80, -3.85), -3.83, None),
        ((-3.80, -3.85), -4.46, True),
    ],
)
def test_a_part_is_unread_only_where_repeating_moves_far_less_than_reading(repeats, other, told):
    assert read(repeats, other) is told
