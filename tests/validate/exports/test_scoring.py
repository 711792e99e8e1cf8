"""The scorer of an export judges as the strict parser does, though neither knows of the other."""

from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from validate_exports import module

from ordinate.prove.statistics import wilson
from ordinate.validate.parsing import judge
from ordinate.validate.sampling.answers import spoken

FILE = Path(str(files("ordinate.validate.exports._files") / "scoring.py"))
scoring = module(FILE)

WORDS = (
    "Tova",
    "tova",
    "Merin",
    "12",
    "7",
    "9",
    "no",
    "Straße",
    "İda",
    "a dozen",
    "baro kelu mi",
    "and",
    "null",
    "1.5",
)
MARKS = ("", " ", "  ", "\t", "\n", "\r", "\n\n", "*", "**", "_", "`", '"', "'", "“", "”", ".", "..", ",", ";", " and ")
LEADS = ("Answer:", "answer :", "**Answer:**", "**Answer**:", "_Answer:", "The answer is", "ANSWER\t:", "1answer:")
THINKING = ("<think>", "</think>", "hm")
JSON = ('{"answer": ', "}", "[", "]", "true", "false", '"', "{", ": 3", '"reply"', ", ")
FENCES = ("```", "```json\n", "\n```", "```JSON\n")
PIECES = st.sampled_from((*WORDS, *MARKS, *LEADS, *THINKING, *JSON, *FENCES)) | st.text(max_size=3)
RESPONSES = st.lists(PIECES, max_size=9).map("".join)
SLOTS = st.tuples(
    st.sampled_from(("", "I think so.\n", "```\n", "\n")),
    st.sampled_from((*LEADS, "")),
    st.lists(st.sampled_from((*WORDS, *MARKS)), max_size=6).map("".join),
    st.sampled_from(("", "\nAnswer: Tova", "\n```", ".", "**")),
).map("".join)
OBJECTS = st.tuples(
    st.sampled_from(("", "```json\n", " ")),
    st.recursive(
        st.sampled_from(WORDS) | st.integers(0, 12) | st.booleans() | st.none() | st.floats(0, 12),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("answer"), inner, max_size=1),
        max_leaves=4,
    ),
    st.sampled_from(("", "\n```", " ", " or not")),
)
FORMS = st.sampled_from(("one", "set", "line"))
ANSWERS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True).map(tuple)


def agree(response: str, answer: tuple[str, ...], form: str, continues: bool, thinks: bool = False) -> None:
    answer = answer if form == "set" else answer[:1]
    document = {"answer": list(answer), "form": form, "continues": continues, "thinks": thinks}
    text = spoken(response) if thinks else response
    scored = None if text is None else judge(text, answer, form, continues=continues)  # type: ignore[arg-type]
    wanted = (False, False) if scored is None else (scored.right, scored.parsed is not None)
    assert scoring.judged(document, response) == wanted, response


@given(RESPONSES | SLOTS, ANSWERS, FORMS, st.booleans(), st.booleans())
def test_drawn_responses_are_judged_alike(response, answer, form, continues, thinks):
    agree(response, answer, form, continues, thinks)


@given(OBJECTS, ANSWERS, FORMS, st.booleans())
def test_drawn_objects_are_judged_alike(parts, answer, form, continues):
    import json

    before, value, after = parts
    agree(f"{before}{json.dumps({'answer': value})}{after}", answer, form, continues)
    agree(f"{before}{json.dumps(value)}{after}", answer, form, continues)


@given(
    st.lists(st.sampled_from(("Tova", "12", "Straße", "a dozen")), min_size=1, max_size=3, unique=True),
    st.sampled_from(("{}", "Answer: {}", "**Answer: {}**", "`{}`.", '{{"answer": "{}"}}', "```json\nAnswer: {}\n```")),
    st.sampled_from((", ", " and ", ";", ",\tand ")),
)
def test_a_right_answer_is_right_in_every_form_that_it_may_have(answer, around, between):
    document = {"answer": answer[::-1], "form": "set", "continues": True, "thinks": False}
    line = around.format(between.join(answer).upper() if "json" not in around else between.join(answer))
    line = line.replace("\t", "\\t") if line.startswith("{") else line
    assert scoring.judged(document, line) == (True, True)
    agree(line, tuple(answer), "set", continues=True)


@pytest.mark.parametrize("response", ["**Tova**, **Merin**", '"Merin" and "Tova"', "**Tova, Merin**", "`Tova`; Merin"])
def test_the_members_of_a_set_may_be_marked_each_or_together(response):
    document = {"answer": ["Tova", "Merin"], "form": "set", "continues": False, "thinks": False}
    assert scoring.judged(document, f"Answer: {response}") == (True, True)


@pytest.mark.parametrize(
    ("response", "right"),
    [("<think>Answer: Merin</think>\nAnswer: Tova", True), ("<think>Answer: Tova", False), ("Answer: Tova", True)],
)
def test_thinking_is_left_out_and_must_end(response, right):
    document = {"answer": ["Tova"], "form": "one", "continues": False, "thinks": True}
    assert scoring.judged(document, response)[0] is right


def test_a_pair_is_right_when_both_members_are_and_counts_once():
    rows = [(0, 2, True), (0, 2, True), (1, 2, True), (1, 2, False), (2, 2, False), (2, 2, True)]
    assert scoring.share(rows) == pytest.approx(1 / 3)


def test_a_pair_of_which_one_member_was_not_asked_is_left_out():
    assert scoring.units([(0, 2, True), (0, 2, True), (1, 2, False)]) == [True]


def test_units_may_come_in_any_order():
    assert sorted(scoring.units([(1, 2, True), (0, 2, True), (1, 2, True), (0, 2, False)])) == [False, True]


@pytest.mark.parametrize(("right", "n"), [(0, 8), (8, 8), (3, 24), (47, 50), (1, 1)])
def test_the_interval_is_wilsons(right, n):
    rows = [(unit, 1, unit < right) for unit in range(n)]
    assert (scoring.lower(rows), scoring.upper(rows)) == pytest.approx(wilson(right, n))


def test_the_scorer_imports_nothing_but_pythons_own():
    import ast
    import sys

    tree = ast.parse(FILE.read_text(encoding="utf-8"))
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert {str(name).split(".")[0] for name in names} <= sys.stdlib_module_names


@pytest.mark.parametrize(
    "response",
    ['{"answer": ' * 100_000, '{"answer": "\\ud800"}', '{"answer": ["\\udfff"]}', "*" * 200_000 + "answer"],
)
def test_what_is_made_to_break_a_reader_is_no_answer(response):
    document = {"answer": ["Tova"], "form": "set", "continues": False, "thinks": False}
    assert scoring.judged(document, response) == (False, False)
    agree(response, ("Tova",), "set", continues=False)
