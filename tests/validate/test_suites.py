"""Suites ask what they say, of lengths that hold it, within what they say it takes."""

import pytest
from scripted_backend import material
from validate_samples import tokenizer

from ordinate.errors import InputError
from ordinate.validate.builder import PLACES
from ordinate.validate.estimate import amount, cost, estimate, tokens
from ordinate.validate.instances import CONTROLS
from ordinate.validate.sampling import Material
from ordinate.validate.statistics import Pairs, retention
from ordinate.validate.suites import Scope, find, names
from ordinate.validate.suites._entries import FACTOR
from ordinate.validate.suites._lengths import grid
from ordinate.validate.tasks.base import task_names
from ordinate.validate.trials import Trial
from ordinate.validate.uses.answers import chance

EVERYTHING = frozenset({"answer", "choices", "losses"})


def plan(name="standard", **given):
    return find(name).plan(Scope(material(), **{"filler": "noise", "to": 8192, **given}))


@pytest.mark.parametrize("name", ["standard", "publication"])
def test_the_larger_suites_ask_every_task_with_controls_and_the_factor_tasks_in_every_place(name):
    trials = plan(name).trials
    assert sorted(trial.task for trial in trials) == task_names()
    for trial in trials:
        assert (trial.short, trial.lengths) == (2048, (4096, 8192))
        assert trial.controls == CONTROLS
        assert {"start", "middle"} <= set(trial.places)
        if trial.task in FACTOR:
            assert trial.places == PLACES
    assert {trial.units for trial in trials} == ({50} if name == "standard" else {100})


def test_what_a_backend_does_not_give_is_left_out_and_said(smollm2_material):
    found = find("smoke").plan(Scope(smollm2_material, filler="generated"))
    assert [trial.task for trial in found.trials] == ["passkey", "multi_hop"]
    assert found.notes == ("associative_copy (copy) is left out: no losses of prompts are to be had",)
    with pytest.raises(InputError, match="has nothing that can be asked here"):
        find("smoke").plan(Scope(smollm2_material, frozenset({"choices"})))


def test_language_modelling_is_asked_at_lengths_that_every_text_has():
    short = min(map(len, material().novels))
    found = plan(offers=EVERYTHING, tasks=("language_modelling",), to=None, lengths=(4096, short, short + 1))
    (trial,) = found.trials
    assert (trial.short, trial.lengths) == (4096, (short,))
    assert found.notes == (f"language_modelling has a text of {short} tokens and is not asked at {short + 1}",)


@pytest.fixture(scope="module")
def smollm2_material():
    return Material(tokenizer("smollm2"))


def test_the_smoke_suite_takes_about_60000_tokens_of_smollm2(smollm2_material):
    found = find("smoke").plan(Scope(smollm2_material, EVERYTHING, filler="generated"))
    assert {(trial.short, trial.lengths) for trial in found.trials} == {(256, (512,))}
    by_task = {trial.task: estimate([trial]) for trial in found.trials}
    likely = by_task["passkey"].most + by_task["associative_copy"].most + by_task["multi_hop"].least
    assert 50_000 < likely < 70_000
    assert estimate(found.trials).most < 100_000


def test_the_smoke_suite_can_support_a_length():
    (passkey, *_) = plan("smoke", to=2048).trials
    assert passkey.units == 50
    assert chance(passkey) == 0
    assert retention(Pairs(48, 2, 0, 0), chance=0, last=50).verdict == "supported"
    assert retention(Pairs(24, 0, 0, 0), chance=0, last=50).verdict == "inconclusive"


def test_a_task_has_the_lengths_that_hold_it():
    found = plan(tasks=("near_key", "graph_walk"), to=None, lengths=(800, 1000, 2000))
    by_task = {trial.task: (trial.short, trial.lengths) for trial in found.trials}
    assert by_task == {"near_key": (800, (1000, 2000)), "graph_walk": (2000, ())}
    assert any("graph_walk needs" in note and "not asked at 800, 1000" in note for note in found.notes)
    with pytest.raises(InputError, match=r"must hold an instance: the smallest needs \d+ tokens, got \[300\]"):
        plan(tasks=("near_key",), to=None, lengths=(300,))


def test_the_grid_ends_where_prompt_and_answer_fit_the_limit():
    found = plan(tasks=("passkey",), to=4096, limit=4096)
    (trial,) = found.trials
    assert trial.lengths[-1] + trial.reserve == 4096
    assert found.notes == (
        f"the longest prompts have {trial.lengths[-1]} tokens: {trial.reserve} more are for the answer",
    )
    (beyond,) = plan(tasks=("passkey",), to=8192, limit=4096).trials
    assert beyond.lengths[-1] == 8192  # what does not fit is asked for, and is an error that says so


def test_without_lengths_the_larger_suites_go_to_the_declared_limit():
    (trial,) = plan(tasks=("passkey",), to=None, limit=5000).trials
    assert trial.short == 1024
    assert trial.lengths[0] == 2048
    assert trial.lengths[-1] + trial.reserve == 5000
    with pytest.raises(InputError, match="declares no limit"):
        plan(tasks=("passkey",), to=None)


@pytest.mark.parametrize(
    ("short", "end", "expected"),
    [(256, 256, (256,)), (256, 300, (256, 300)), (256, 8192, (256, 512, 1024, 2048, 4096, 8192))],
)
def test_the_grid(short, end, expected):
    assert grid(short, end) == expected


def test_a_task_of_no_suites_own_can_be_asked_and_an_unknown_one_is_named():
    (trial,) = plan("smoke", tasks=("citation",), to=4096).trials
    assert (trial.task, trial.units) == ("citation", 50)
    with pytest.raises(InputError, match="unknown task 'pass_key'; did you mean 'passkey'"):
        plan(tasks=("pass_key",))
    with pytest.raises(InputError, match="unknown suite"):
        find("smoek")


def test_right_answers_fit_the_reserve():
    for trial in plan().trials:
        task = material().task(trial.task)
        longest = max(len(task.write(task.instance(0, i).answer).encode()) for i in range(100, 130))
        assert longest + 1 < trial.reserve, trial.task
    assert {trial.reserve for trial in plan(reserve=99).trials} == {99}


def test_an_estimate_is_the_sum_of_what_its_requests_take():
    trial = Trial("absence", 512, (1024,), ("start", "end"), filler="noise", reserve=8, units=50, controls=CONTROLS[:2])
    found = estimate([trial])
    assert found.least == 2 * 2 * 24 * 520
    assert found.most == 2 * 2 * 50 * (520 + 1032) + 2 * 2 * 12 * 520
    assert found.requests == 2 * 2 * 50 * 2 + 2 * 2 * 12
    parts = [estimate([trial], shard=(i, 3)) for i in range(3)]
    assert sum(part.most for part in parts) == found.most
    assert all(part.least == part.most for part in parts)
    timed = estimate([trial], rate=1000.0)
    assert timed.seconds == (found.least / 1000, found.most / 1000)
    assert "1000 tokens/s" in timed.sentences()[1]


def test_margins_and_copies_cost_two_rows():
    margin = Trial("near_key", 512, (), measure="margin", filler="noise")
    assert cost(margin.cells[0]) == 1024
    copies = Trial("associative_copy", 512, (), ("start", "end"), measure="copy")
    assert [cost(cell) for cell in copies.cells] == [512 + 16, 1024 + 16]


@pytest.mark.parametrize("text", ["", "0", "-5", "5T", "1e6", "k"])
def test_a_budget_is_a_number_of_tokens(text):
    with pytest.raises(InputError, match="a budget must be a number of tokens"):
        tokens(text)
    assert (tokens("60k"), amount(61_000)) == (60_000, "61k")


def test_every_suite_has_its_files_name():
    assert [find(name).name for name in names()] == names()
