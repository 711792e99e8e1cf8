"""Prompts with canaries: exactly N tokens, one text for nine questions, and rewritten where they are asked to be."""

import pytest

from ordinate.errors import InputError
from ordinate.validate.accepts.canaries import Canaries
from ordinate.validate.tokenizers import ByteTokenizer

LENGTHS = (0, 1, 2, 3, 100, 101, 613)


@pytest.fixture(scope="module")
def canaries():
    return Canaries(ByteTokenizer(), seed=3)


@pytest.mark.parametrize("more", LENGTHS)
def test_every_prompt_has_exactly_the_length_and_every_code_once(canaries, more):
    length = canaries.short + more
    marked = canaries.write(length)
    for part, prompt in enumerate(marked.prompts):
        assert len(prompt.ids) == length
        assert tuple(canaries.tokenizer.encode(canaries.tokenizer.decode(prompt.ids))) == prompt.ids
        assert prompt.text.endswith(f"The code of note {part} is")
        assert all(prompt.text.count(code) == 1 for code in marked.codes)
    assert len({prompt.ids[: prompt.question[0]] for prompt in marked.prompts}) == 1
    assert len({prompt.ids for prompt in marked.prompts}) == 9


def test_canaries_stand_at_the_head_at_every_eighth_and_just_before_the_question(canaries):
    prompt = canaries.write(2000).prompts[0]
    first, last = prompt.context
    assert prompt.text.startswith("The code of note 0 is")
    assert prompt.placed["8"].stop == prompt.question[0]
    for part in range(1, 8):
        assert abs(prompt.placed[str(part)].start - (first + part * (last - first) / 8)) < 40


def test_the_head_is_blind_up_to_the_first_digit(canaries):
    marked = canaries.write(2000)
    ids, decode = marked.prompts[0].ids, canaries.tokenizer.decode
    assert marked.codes[0] in decode(ids[marked.blind :])
    assert marked.codes[0] not in decode(ids[marked.blind + 1 :])


@pytest.mark.parametrize("first, last", [(0, 0), (0, 4), (1, 1), (3, 5), (8, 8), (0, 8)])
def test_rewriting_changes_one_stretch_and_its_codes_alone(canaries, first, last):
    marked, others = canaries.write(2000), canaries.write(2000, other=True)
    prompt = canaries.rewritten(marked, others, 4, first, last)
    assert prompt is not None
    assert len(prompt.ids) == 2000
    assert prompt.ids[prompt.question[0] :] == marked.prompts[4].ids[prompt.question[0] :]
    gone = {part for part, code in enumerate(marked.codes) if code not in prompt.text}
    assert gone == set(range(first, last + 1))
    differing = [i for i, (a, b) in enumerate(zip(prompt.ids, marked.prompts[4].ids, strict=True)) if a != b]
    placed = marked.prompts[4].placed
    assert differing[-1] < (prompt.question[0] if last == 8 else placed[str(last + 1)].start)
    assert first == 0 or differing[0] >= (placed[str(first - 1)].stop if first > 1 else prompt.context[0])


def test_texts_have_codes_of_their_own(canaries):
    codes = [set(canaries.write(1000, index).codes) for index in range(3)]
    assert not codes[0] & codes[1]
    assert not codes[1] & codes[2]


def test_what_is_too_short_is_refused(canaries):
    with pytest.raises(InputError, match="does not fit"):
        canaries.write(canaries.short - 200)
