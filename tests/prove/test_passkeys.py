import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.errors import InputError
from ordinate.prove.passkeys import DIGITS, NAMES, QUESTION, SENTENCE, draw, place


def letters(text):
    return [ord(letter) for letter in text]


@st.composite
def texts_and_sentences(draw_from):
    """Real tokens are 0, 1, 2, ... and a sentence's are negative, so that each tells where it came from."""
    count = draw_from(st.integers(1, 6))
    sizes = draw_from(st.lists(st.integers(1, 9), min_size=count, max_size=count))
    sentences = [[-(100 * number + i) - 1 for i in range(size)] for number, size in enumerate(sizes)]
    prefix = draw_from(st.sampled_from([(), (-9999,)]))
    real = draw_from(st.integers(count + 1, 200))
    starts = draw_from(st.lists(st.integers(1, real - 1), min_size=count, unique=True).map(sorted))
    length = real + sum(sizes) + len(prefix)
    return list(range(real + draw_from(st.integers(0, 5)))), starts, sentences, length, prefix, real


@given(texts_and_sentences())
def test_sentences_are_placed_whole_and_the_text_stays_in_order(case):
    text, starts, sentences, length, prefix, real = case
    placed = place(text, starts, sentences, length, prefix)
    assert len(placed.ids) == length
    assert tuple(placed.ids[: len(prefix)]) == prefix
    for sentence, (start, stop) in zip(sentences, placed.spans, strict=True):
        assert list(placed.ids[start:stop]) == sentence
        # What follows a sentence is a token before which one may stand.
        assert placed.ids[stop] in starts
    assert [token for token in placed.ids if token >= 0] == list(range(real))
    assert list(placed.spans) == sorted(placed.spans)


@given(texts_and_sentences())
def test_only_text_proper_is_scored(case):
    text, starts, sentences, length, prefix, _ = case
    placed = place(text, starts, sentences, length, prefix)
    scored = [index for start, stop in placed.scored for index in range(start, stop)]
    # A token counts exactly where it and the one before it are text.
    expected = [i for i in range(1, length) if placed.ids[i] >= 0 and (placed.ids[i - 1] >= 0 or i == len(prefix))]
    assert scored == expected


def test_sentences_stand_at_even_depths():
    text, sentences = list(range(1000)), [[-1] * 20, [-2] * 20, [-3] * 20, [-4] * 20]
    placed = place(text, range(1000), sentences, 1000)
    assert [start for start, _ in placed.spans] == [125, 375, 625, 875]


def test_the_nearest_place_is_taken():
    placed = place(list(range(100)), [30, 44, 90], [[-1] * 10], 100)
    assert placed.spans == ((44, 54),)


def test_crowded_places_leave_one_for_each_sentence():
    placed = place(list(range(100)), [96, 97, 98], [[-1], [-2], [-3]], 103)
    assert [start for start, _ in placed.spans] == [96, 98, 100]


@pytest.mark.parametrize("starts, length", [([0, 5, 99], 100), ([5, 6], 200), ([5, 6], 3)])
def test_a_text_without_room_is_refused(starts, length):
    with pytest.raises(InputError):
        place(list(range(100)), starts, [[-1, -1], [-2, -2]], length)


def test_keys_are_six_digits_drawn_by_the_seed():
    keys = draw(6, 3, "", letters)
    assert all(re.fullmatch(rf"\d{{{DIGITS}}}", key.key) for key in keys)
    assert len({key.key for key in keys}) == 6
    assert draw(6, 3, "", letters) == keys
    assert [key.key for key in draw(6, 4, "", letters)] != [key.key for key in keys]


def test_a_sentence_holds_what_its_question_begins():
    for key in draw(len(NAMES), 0, "", letters):
        sentence, question, answer = ("".join(map(chr, ids)) for ids in (key.sentence, key.question, key.answer))
        assert question + answer == f"\n\nThe pass key is {key.name}-{key.key}"
        assert sentence.count(question.strip() + answer) == 1
        assert sentence.count(f"{key.name}-{answer}") == 2


def test_the_question_never_shows_the_key():
    assert "{key}" not in QUESTION
    assert SENTENCE.endswith("\n\n")


def test_names_in_the_text_are_left_out():
    keys = draw(6, 0, "A LIGHTHOUSE and two volcanoes", letters)
    assert [key.name for key in keys] == ["Aquarium", "Submarine", "Telescope", "Locomotive", "Satellite", "Penguin"]
    with pytest.raises(InputError, match="6 names"):
        draw(6, 0, " ".join(NAMES[:7]), letters)


def test_a_token_that_joins_question_and_digit_belongs_to_the_answer():
    def joined(text):
        """The dash and a digit behind it are one token."""
        return [
            ord(found) if len(found) == 1 else 1000 + int(found[1]) for found in re.findall(r"-\d|.", text, re.DOTALL)
        ]

    key = draw(1, 0, "", joined)[0]
    assert key.question == tuple(letters("\n\nThe pass key is Lighthouse"))
    assert key.answer == (1000 + int(key.key[0]), *letters(key.key[1:]))


def test_a_question_that_takes_too_many_tokens_is_refused():
    with pytest.raises(InputError, match="2 to 64 tokens"):
        draw(1, 0, "", lambda text: [0] * 3 * len(text))
