"""Rules of moved positions by hand-made examples, and what text, JSON and SARIF say of a model that is wrong."""

import json

import pytest
import torch
from audit.audited_models import small

from ordinate.audit import Audit, all_checks, audit_model, find_check
from ordinate.audit.base import Finding, Outcome, Where
from ordinate.audit.kinds import KINDS, kind
from ordinate.audit.patterns import Moved, patterns
from ordinate.audit.report import to_json, to_sarif, to_text
from ordinate.errors import InputError


def moved(tokens, stands, *, rows=None, starts=None, ends=None, later=None, before=None, all_before=(0,), window=None):
    tokens = torch.tensor(tokens)
    given = {"rows": rows, "later": later, "before": before}
    return Moved(
        tokens=tokens,
        stands=torch.tensor(stands),
        starts=tokens if starts is None else torch.tensor(starts),
        ends=tokens if ends is None else torch.tensor(ends),
        all_before=all_before,
        window=window,
        **{name: torch.zeros_like(tokens) if one is None else torch.tensor(one) for name, one in given.items()},
    )


@pytest.mark.parametrize(
    "example, kinds",
    [
        (moved([7, 8, 9], [0, 1, 2], starts=[7, 7, 7]), ["restart"]),
        (moved([8, 9, 15], [7, 7, 14], starts=[7, 7, 14]), ["shared_position"]),
        (moved([7, 8, 14], [9, 9, 15], starts=[7, 7, 14], ends=[9, 9, 15]), ["shared_position"]),
        (moved([7, 8, 9], [0, 0, 0], starts=[7, 7, 7]), ["rotation_count"]),
        # Read in three passes: the first tokens are turned twice more, those of the second pass once more.
        (
            moved([1, 2, 4, 5], [3, 6, 8, 10], starts=[0, 0, 3, 3], ends=[2, 2, 5, 5], later=[2, 2, 1, 1]),
            ["rotation_count"],
        ),
        # Three rows of passes of 4 from token 8 on, or of 12 tokens so far.
        (moved([8, 9, 8], [12, 13, 16], rows=[1, 1, 2], starts=[8, 8, 8], ends=[11, 11, 11]), ["rows"]),
        (moved([8, 9, 8], [20, 21, 32], rows=[1, 1, 2], starts=[8, 8, 8], ends=[11, 11, 11]), ["rows"]),
        (moved([8, 9], [12, 13], rows=[1, 1], starts=[8, 8], ends=[11, 11]), ["offset"]),
        (moved([130, 255, 256], [-126, -1, 0], starts=[0, 0, 0], ends=[300, 300, 300]), ["position_precision"]),
        (moved([256, 300], [0, 44], starts=[0, 0], ends=[300, 300]), ["position_precision"]),
        (moved([7, 8, 9], [0, 0, 0]), ["restart", "rotation_count"]),
        (moved([3, 4], [6, 8], starts=[0, 0]), ["rotation_count"]),
        (moved([3, 4], [-3, -4], starts=[0, 0]), ["rotation_count"]),
        (moved([9, 10], [1, 2], starts=[0, 0], window=8), ["ring_index"]),
        (moved([9, 10], [14, 15], starts=[0, 0], before=[5, 5], all_before=(5, 2)), ["padding"]),
        (moved([9, 10], [12, 13], starts=[0, 0], before=[5, 5], all_before=(5, 2)), ["rows"]),
        (moved([257, 259], [256, 260], starts=[0, 0]), ["position_precision"]),
        (moved([9, 10], [10, 11], starts=[0, 0]), ["offset"]),
        (moved([9, 10, 11, 12], [10, 11, 14, 15], starts=[9, 9, 11, 11]), ["offset"]),
        (moved([9, 10, 11], [10, 13, 19], starts=[9, 9, 9]), ["unexplained"]),
        (moved([30, 40], [29, 29], starts=[0, 0]), ["clamped"]),
    ],
)
def test_the_rule_that_moved_tokens_is_named(example, kinds):
    assert list(dict.fromkeys(name for name, _ in patterns(example))) == kinds


class Restarting(torch.nn.Module):
    """A rotary module that counts from 0 in each call."""

    def __init__(self, own):
        super().__init__()
        self.own = own

    def forward(self, x, position_ids, **more):
        return self.own(x, torch.arange(position_ids.shape[-1]).expand_as(position_ids), **more)


@pytest.fixture(scope="module")
def wrong():
    model = small("llama")
    model.model.rotary_emb = Restarting(model.model.rotary_emb)
    return audit_model(model, checks=["batch-rows", "chunked-prefill"], length=72, name="a model")


def test_a_finding_names_the_fault_its_size_where_it_starts_the_reports_and_what_to_do(wrong):
    (finding,) = wrong.findings
    assert (finding.kind, finding.severity) == ("restart", "error")
    assert (finding.where.token, finding.where.layer, finding.where.part) == (7, 0, "keys")
    assert finding.numbers["max_difference"] > 100 * finding.numbers["noise_floor"]
    assert finding.reports == kind("restart").reports
    text = to_text(wrong)
    for words in (
        "error [restart]",
        "times the noise floor",
        "layer 0",
        "huggingface/transformers#43082",
        "what to do",
    ):
        assert words in text


def test_json_holds_every_case_and_its_version(wrong):
    found = json.loads(to_json(wrong))
    assert (found["schema_version"], found["kind"]) == (1, "audit")
    assert [finding["kind"] for finding in found["findings"]] == ["restart"]
    assert {case["status"] for case in found["outcomes"]} == {"passed", "failed"}
    assert found["subject"]["passes"] == wrong.subject["passes"] > 0


def test_sarif_has_a_rule_for_every_kind_and_points_at_its_own(wrong):
    (run,) = json.loads(to_sarif(wrong, "1.0"))["runs"]
    rules = run["tool"]["driver"]["rules"]
    (result,) = run["results"]
    assert [rule["id"] for rule in rules] == list(KINDS)
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == "restart"


def made(check, kind_name):
    about = kind(kind_name)
    outcome = Outcome(check, "a case", "failed", kind=kind_name)
    finding = Finding(check, kind_name, about.severity, about.title, (), Where(), "seen", {}, about.remedy, ())
    return outcome, finding


def test_notes_are_counted_apart_from_faults():
    outcomes, found = zip(made("dtype_cast", "table_cast"), made("chunked_prefill", "restart"), strict=True)
    passed = Outcome("packed", "a case", "passed")
    assert kind("table_cast").severity == "note"
    for some, words in {
        (): "0 kinds of fault; 1 check passed, 0 failed",
        (0,): "0 kinds of fault, 1 note; 1 check passed, 0 failed",
        (1,): "1 kind of fault; 1 check passed, 1 failed",
        (0, 1): "1 kind of fault, 1 note; 1 check passed, 1 failed",
    }.items():
        result = Audit({"name": "m"}, (passed, *(outcomes[i] for i in some)), tuple(found[i] for i in some))
        assert to_text(result).splitlines()[-1] == words


def test_checks_have_one_name_in_every_report():
    outcomes, found = made("chunked_prefill", "restart")
    refused = Outcome("left_padding", "", "refused", evidence="no mask")
    result = Audit({"name": "m"}, (outcomes, refused), (found,))
    document = json.loads(to_json(result))
    assert [case["check"] for case in document["outcomes"]] == ["chunked-prefill", "left-padding"]
    assert document["findings"][0]["check"] == "chunked-prefill"
    assert json.loads(to_sarif(result, "1"))["runs"][0]["results"][0]["properties"]["check"] == "chunked-prefill"
    assert "left-padding: refused: no mask" in to_text(result)


def test_every_check_names_kinds_of_the_closed_list_and_public_reports():
    for check in all_checks():
        assert set(check.kinds) <= set(KINDS), check.name
        assert all("#" in report for report in check.reports), check.name
        assert check.title
        assert check.explanation
        assert check.remedy
        assert find_check(check.id).name == check.name


def test_what_cannot_be_audited_is_refused():
    with pytest.raises(InputError, match="unknown check 'token-by-tokens'; did you mean 'token-by-token'"):
        audit_model(small("llama"), checks=["token-by-tokens"])
    with pytest.raises(InputError, match="length must be at most 256"):
        audit_model(small("llama"), length=257)
    with pytest.raises(InputError, match="length must be >= 16"):
        audit_model(small("llama"), length=4)


@pytest.mark.parametrize("wrong", ["left-padding", []])
def test_checks_are_a_list_of_at_least_one(wrong):
    with pytest.raises(InputError, match="checks must be a list of at least one check's id"):
        audit_model(None, checks=wrong)
