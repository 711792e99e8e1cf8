"""Fake servers, each with one fault: the audit names it and nothing else. What is planted is in `fake_server`."""

import json
from pathlib import Path

import pytest

pytest.importorskip("httpx2")
pytest.importorskip("tokenizers")

from fake_language_model import ALPHABET
from fake_server import FakeServer, Fault, Features, serving

from ordinate.audit.server import Budget, Limits, ServerAudit, audit_server, check_names

WINDOW = 420
LENGTHS = (16, 32)


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model's tokenizer as a tokenizer.json: a character is a token."""
    import tokenizers

    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({character: n for n, character in enumerate(ALPHABET)}, unk_token="\n")  # noqa: S106
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"[\s\S]"), "isolated")
    made.decoder = tokenizers.decoders.Fuse()
    file = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    made.save(str(file))
    return file


def audited(server: FakeServer, tokenizer: Path | None, *checks: str, **more) -> ServerAudit:
    settings = {"budget": Budget(seconds=100), "limits": Limits(wait=20), "seed": 5, "lengths": LENGTHS} | more
    return audit_server(server.url, "tiny", tokenizer=tokenizer, checks=checks or None, **settings)


def kinds(audit: ServerAudit) -> set[str]:
    return {finding.kind for finding in audit.findings}


def outcomes(audit: ServerAudit, check: str) -> list:
    return [outcome for outcome in audit.outcomes if outcome.check == check]


def statuses(audit: ServerAudit, check: str) -> set[str]:
    return {outcome.status for outcome in outcomes(audit, check)}


CASES = {
    "sound": (Fault(), set()),
    "no bypass of the cache": (Fault(), set()),
    "no cache": (Fault(), set()),
    "many slots": (Fault(), set()),
    "noise only": (Fault(noise=0.05), set()),
    "much noise only": (Fault(noise=0.5), set()),
    "a position too few after a cached beginning": (Fault(reuse_offset=-1), {"prefix_cache"}),
    "a position too many after a cached beginning": (Fault(reuse_offset=1), {"prefix_cache"}),
    "the same with noise": (Fault(reuse_offset=-3, noise=0.01), {"prefix_cache"}),
    "a cached beginning far off, without a bypass": (Fault(reuse_offset=9), {"prefix_cache"}),
    "the same without log-probabilities": (Fault(reuse_offset=-1), {"prefix_cache"}),
    "generated tokens a position too far": (Fault(decode_offset=1), {"decoding_path"}),
    "answers handed to the wrong request": (Fault(mixed=True), {"neighbours"}),
    "a wrong count of prompt tokens": (Fault(count=lambda n: n * 3 // 4), {"token_count"}),
    "a count that adds two": (Fault(count=lambda n: n + 2), {"token_count"}),
    "429 half the time": (Fault(busy=True), set()),
    "refusals inside the window": (Fault(refuses_from=350), {"window_refused"}),
    "answers that go on past the window": (Fault(shift=True), {"context_shift"}),
}
FEATURES = {
    "no bypass of the cache": {"bypass": False},
    "no cache": {"cache": False},
    "many slots": {"slots": 5},
    "a cached beginning far off, without a bypass": {"bypass": False, "cached_tokens": False},
    "the same without log-probabilities": {"logprobs": False},
}


@pytest.mark.parametrize("case", CASES)
def test_each_fault_is_named_and_nothing_else(case, tokenizer):
    fault, expected = CASES[case]
    with serving(fault, Features(window=WINDOW, **FEATURES.get(case, {}))) as server:
        audit = audited(server, tokenizer)
        assert server.requests <= audit.subject["requests"] <= 320
    assert kinds(audit) == expected
    assert not audit.subject["ended"]


def test_a_sound_server_passes_every_check(tokenizer):
    with serving(features=Features(window=WINDOW)) as server:
        audit = audited(server, tokenizer, lengths=None)
    assert audit.subject["lengths"] == [16, 32, 256, WINDOW - 36]
    for check in check_names():
        assert statuses(audit, check) == {"passed"}, outcomes(audit, check)


@pytest.mark.parametrize("admits", [False, True], ids=["counts what was sent", "counts what is left"])
@pytest.mark.parametrize("side", ["head", "middle", "tail"])
@pytest.mark.parametrize("endpoint", ["completions", "chat"])
def test_truncations_are_told_apart(endpoint, side, admits, tokenizer):
    features = Features(window=WINDOW, completions=endpoint == "completions", chat=endpoint == "chat")
    with serving(Fault(cut=side, admits=admits), features) as server:
        audit = audited(server, tokenizer, "truncation")
    (finding,) = audit.findings
    assert finding.kind == f"truncation_{side}"
    unread = finding.numbers["not_read"]
    assert unread == list(range(unread[0], unread[-1] + 1))
    assert {"head": unread[0] == 0, "tail": unread[-1] == 8, "middle": unread[0] > 0 and unread[-1] < 8}[side]
    assert ("it counts" in finding.evidence) == admits


@pytest.mark.parametrize("kept", [12, 30, 60])
def test_a_cut_behind_a_few_tokens_of_the_head_is_found_where_the_count_admits_it(kept, tokenizer):
    fault, features = Fault(cut="middle", kept=kept, admits=True), Features(window=WINDOW, chat=False)
    with serving(fault, features) as server:
        audit = audited(server, tokenizer, "truncation")
    (finding,) = audit.findings
    assert finding.kind == "truncation_middle"
    assert 8 not in finding.numbers["not_read"]


@pytest.mark.parametrize("side", ["head", "middle", "tail"])
def test_truncations_are_told_apart_by_what_a_model_repeats(side, tokenizer):
    features = Features(window=WINDOW, chat=False, logprobs=False, repeats=True)
    with serving(Fault(cut=side), features) as server:
        audit = audited(server, tokenizer, "truncation")
    if side == "tail":  # the question is cut off with the tail, so that nothing is repeated: it cannot be told
        assert statuses(audit, "truncation") == {"passed", "undecided"}
        return
    assert kinds(audit) == {f"truncation_{side}"}


@pytest.mark.parametrize("side", ["head", "middle", "tail"])
def test_truncations_are_told_apart_without_a_tokenizer(side):
    with serving(Fault(cut=side), Features(window=WINDOW, tokenize=False, chat=False)) as server:
        audit = audited(server, None, "truncation")
    assert kinds(audit) == {f"truncation_{side}"}


def test_a_window_that_is_declared_longer_than_it_is_is_found_inside_it(tokenizer):
    with serving(Fault(cut="head"), Features(window=WINDOW, declared=2 * WINDOW, chat=False)) as server:
        audit = audited(server, tokenizer, "truncation")
    (finding,) = audit.findings
    lengths = (2 * WINDOW - 24, 3 * WINDOW)
    assert finding.cases == tuple(f"truncation: {length} tokens, completions" for length in lengths)


def test_without_a_declared_window_prompts_grow_until_one_is_refused(tokenizer):
    with serving(features=Features(window=1050, declares=False, chat=False)) as server:
        audit = audited(server, tokenizer, "truncation", "overrun")
    read, refused = outcomes(audit, "truncation")
    assert read.evidence.startswith("the answer depends on")
    assert refused.evidence.startswith("refused: 400")
    assert statuses(audit, "overrun") == {"not applicable"}


def test_where_nothing_can_tell_the_verdict_is_undecided(tokenizer):
    with serving(Fault(cut="head"), Features(window=WINDOW, logprobs=False)) as server:
        audit = audited(server, tokenizer, "truncation", "decoding")
    assert kinds(audit) == set()
    assert "undecided" in statuses(audit, "truncation")
    assert "the model repeats no canary" in outcomes(audit, "truncation")[1].evidence
    assert statuses(audit, "decoding") == {"not applicable"}


def test_cut_noise_is_told_by_the_count_and_left_open_without(tokenizer):
    features = Features(window=WINDOW, chat=False)
    with serving(Fault(cut="head", noise=0.05, admits=True), features) as server:
        assert kinds(audited(server, tokenizer, "truncation")) == {"truncation_head"}
    with serving(Fault(cut="middle", noise=0.05), features) as server:
        audit = audited(server, tokenizer, "truncation")
    assert kinds(audit) == set()
    assert "undecided" in statuses(audit, "truncation")


def test_noise_is_measured_and_reported(tokenizer):
    with serving(Fault(noise=0.05), Features(window=WINDOW)) as server:
        audit = audited(server, tokenizer, "prefix_reuse")
    # The difference of two answers has twice the variance of one; normalising takes a little away.
    assert 0.5 * 0.05 * 2**0.5 < audit.subject["chance_nat"] < 1.5 * 0.05 * 2**0.5


def test_what_is_found_says_where_how_much_and_what_to_do(tokenizer):
    with serving(Fault(reuse_offset=-1), Features(window=WINDOW)) as server:
        audit = audited(server, tokenizer, "prefix_reuse")
    (finding,) = audit.findings
    assert finding.severity == "error"
    assert finding.numbers["rms_nat"] > finding.numbers["threshold_nat"] == 0.02
    assert finding.where.token is not None
    assert 0 < finding.numbers["cached_tokens"] < finding.numbers["length"] <= finding.where.token
    assert finding.remedy
    assert "waybarrios/vllm-mlx#311" in finding.reports


def test_a_small_server_gets_fewer_checks_and_says_why(tokenizer):
    features = Features(
        window=WINDOW, chat=False, tokenize=False, bypass=False, cached_tokens=False, ids=False, lists=False, echo=False
    )
    with serving(features=features) as server:
        audit = audited(server, None)
    offers = audit.subject["offers"]
    assert offers["endpoints"] == ("completions",)
    assert offers["uncached"] is None
    assert not any(offers[name] for name in ("echo", "ids", "lists", "cached_tokens"))
    for check, why in {"token_counts": "no tokenizer is at hand", "decoding": "leave its cache out"}.items():
        (outcome,) = outcomes(audit, check)
        assert outcome.status == "not applicable"
        assert why in outcome.evidence
    assert kinds(audit) == set()


def test_every_kind_that_a_check_names_is_in_the_closed_list():
    from ordinate.audit.kinds import KINDS
    from ordinate.audit.server import find_check

    for name in check_names():
        check = find_check(name)
        assert set(check.kinds) <= KINDS.keys()
        assert check.title and check.explanation.endswith(".") and check.remedy.endswith(".")  # noqa: PT018
        assert all("#" in report for report in check.reports)


def test_what_is_found_is_written_as_text_json_and_sarif(tokenizer):
    from ordinate.audit.report import to_json, to_sarif, to_text

    with serving(Fault(cut="head"), Features(window=WINDOW)) as server:
        audit = audited(server, tokenizer, "truncation", "token_counts")
    written = json.loads(to_json(audit))
    assert [finding["kind"] for finding in written["findings"]] == ["truncation_head"]
    assert len(written["outcomes"]) == len(audit.outcomes)
    assert written["subject"]["offers"]["window"] == WINDOW
    (result,) = json.loads(to_sarif(audit, "0"))["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("truncation_head", "error")
    text = to_text(audit)
    assert text.startswith(f"{server.url}\ntiny: {audit.subject['requests']} requests")
    assert "error [truncation_head] A server drops the beginning of a prompt" in text


def test_a_server_cannot_reach_the_terminal(tokenizer):
    from ordinate.audit.report import to_text

    with serving(Fault(refuses_from=350, reason="\x1b[2Jwiped"), Features(window=WINDOW)) as server:
        text = to_text(audited(server, tokenizer, "truncation"))
    assert "wiped" in text
    assert "\x1b" not in text
