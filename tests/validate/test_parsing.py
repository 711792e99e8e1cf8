"""The strict parser: what stands in the slot counts, all of it, and nothing else."""

import re

import pytest

from ordinate.validate.parsing import Scored, judge, parse


@pytest.mark.parametrize(
    "text",
    [
        "Answer: Tova",
        "answer: tova.",
        "**Answer:** Tova",
        "**Answer**: Tova",
        "**Answer: Tova**",
        "Answer: **Tova**.",
        'Answer: "Tova"',
        "Let me think. Merin went first.\n\nAnswer: Tova\nThat is what the text says.",
        '{"answer": "Tova"}',
        '```json\n{"answer": "Tova"}\n```',
        "Answer: Tova\nAnswer: Merin",
    ],
)
def test_the_one_right_answer_in_the_slot_is_right(text: str) -> None:
    assert judge(text, ("Tova",)).right


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Tova", "no answer slot"),
        ("", "no answer slot"),
        ("The answer is Tova", "no answer slot"),
        ("Answer:", "an empty answer slot"),
        ("Answer:\nTova", "an empty answer slot"),
        ("Answer: Tova, Merin", "another answer"),
        ("Answer: Tova or Merin", "another answer"),
        ("Answer: Tovan", "another answer"),
        ("Answer: Not Tova", "another answer"),
        ("Answer: Merin\nAnswer: Tova", "another answer"),
        ('{"answer": ["Tova", "Merin"]}', "an answer of the wrong type"),
        ('{"answer": "Tova"} or {"answer": "Merin"}', "text after the JSON object"),
        ('{"answer": true}', "an answer of the wrong type"),
        ('{"reply": "Tova"}', "no answer slot"),
        ('{"answer": "Tova"', "not a JSON object"),
        ('{"answer": ' * 100_000, "not a JSON object"),
        ('{"answer": ' + "[" * 100_000, "not a JSON object"),
        ('{"answer": "\\ud800"}', "an answer of the wrong type"),
    ],
)
def test_everything_else_is_wrong_and_says_why(text: str, why: str) -> None:
    judged = judge(text, ("Tova",))
    assert not judged.right
    assert judged.why == why


def test_a_number_inside_a_longer_number_is_another_number() -> None:
    assert judge("Answer: 1234567", ("1234567",)).right
    assert not judge("Answer: 91234567", ("1234567",)).right


def test_no_is_not_found_inside_other_words() -> None:
    for text in ("Answer: I do not know", "Answer: none", "Answer: unknown", "Answer: no idea"):
        assert not judge(text, ("no",)).right


@pytest.mark.parametrize(
    "text", ["12, 7, 9", "9; 7; 12", "7, 9 and 12", "12 and 7, and 9.", '{"answer": [12, "7", 9]}']
)
def test_a_set_is_right_in_any_order(text: str) -> None:
    assert judge(text if text.startswith("{") else f"Answer: {text}", ("12", "7", "9"), "set").right


@pytest.mark.parametrize(
    "text",
    [
        "**12**, **7**, **9**",
        '"12", "7", "9"',
        "`12` and `7` and `9`",
        "**12, 7, 9**",
        '**"12", "7", "9"**',
        "'9'; '7'; 12",
    ],
)
def test_the_members_of_a_set_may_be_marked_each_or_together(text: str) -> None:
    assert judge(f"Answer: {text}", ("12", "7", "9"), "set") == Scored(True, tuple(re.findall(r"\d+", text)))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("12, 7", "1 missing"),
        ("12, 7, 9, 10", "1 too many"),
        ("12, 7, 7, 9", "1 named twice"),
        ("12, 7, 19", "1 missing, 1 too many"),
    ],
)
def test_a_set_needs_every_member_once_and_no_other(text: str, why: str) -> None:
    assert judge(f"Answer: {text}", ("12", "7", "9"), "set").why == why


def test_a_continued_prompt_has_its_answer_in_the_first_line() -> None:
    assert judge(" Tova.\n\nQuestion: and then?\nAnswer: Merin", ("Tova",), continues=True).right
    assert judge(" Answer: Tova", ("Tova",), continues=True).right
    assert judge('{"answer": "Tova"}', ("Tova",), continues=True).right
    assert not judge(" I think Tova\nAnswer: Tova", ("Tova",), continues=True).right


def test_a_line_of_words_counts_as_a_whole_and_in_order() -> None:
    assert judge("Answer:  baro  KELU mi", ("baro kelu mi",), "line").right
    assert not judge("Answer: kelu baro mi", ("baro kelu mi",), "line").right
    assert not judge("Answer: baro kelu", ("baro kelu mi",), "line").right


def test_an_empty_part_of_a_set_cannot_be_read() -> None:
    assert parse("Answer: 12,,7", "set").parts is None


def test_a_response_of_marks_or_white_space_alone_is_read_in_one_pass() -> None:
    assert parse("*" * 200_000 + "answer").why == "no answer slot"  # hours where each mark starts a search anew
    assert parse("Answer: a" + " " * 200_000 + "b, c", "set").parts == ("a b", "c")
