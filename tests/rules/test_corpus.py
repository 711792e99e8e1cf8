"""Every fault that was reported is found, and what differs from it in one value is not taken for it."""

import copy
from collections import Counter
from typing import Any

import pytest
from rules.corpus import ABSENT, CASES, Case

from ordinate.rules import check, rules

RULES = rules()
BY_ID = {rule.id: rule for rule in RULES}


def near_miss(case: Case) -> dict[str, Any]:
    """The configuration with its one value as it is in the near miss."""
    changed = copy.deepcopy(case.files)
    # A name of a file or tensor has dots of its own.
    file, _, path = case.path.rpartition("|")
    steps = [file, *([path] if file == "tensors" else path.split("."))] if file else path.split(".")
    inner = changed
    for step in steps[:-1]:
        inner = inner[step]
    if case.sound is ABSENT:
        del inner[steps[-1]]
    else:
        inner[steps[-1]] = case.sound
    assert repr(changed) != repr(case.files)
    return changed


def found(files: dict[str, Any], case: Case) -> list[str]:
    return [finding.rule for finding in check(files, engine=case.engine).findings]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}-{case.report}")
def test_a_reported_fault_is_found_and_its_near_miss_is_not(case: Case) -> None:
    assert case.rule in found(case.files, case)
    assert case.rule not in found(near_miss(case), case)


def test_every_rule_has_a_case_and_there_are_enough_of_them() -> None:
    assert {case.rule for case in CASES} == set(BY_ID)
    assert len(CASES) >= 60
    assert len(RULES) >= 35


def test_no_case_stands_twice() -> None:
    assert max(Counter((case.report, case.rule, case.engine, case.path) for case in CASES).values()) <= 2


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rules_example_raises_it(rule: Any) -> None:
    engine = rule.engines[0] if rule.engines else None
    assert rule.id in [finding.rule for finding in check(dict(rule.example), engine=engine).findings]


@pytest.mark.parametrize("case", [case for case in CASES if case.engine], ids=lambda case: f"{case.rule}-{case.engine}")
def test_a_rule_about_an_engine_is_silent_where_the_engine_is_not_named(case: Case) -> None:
    assert case.rule not in [finding.rule for finding in check(case.files).findings]
