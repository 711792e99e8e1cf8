"""Every request ends: servers that stall, send rubbish or never end are named errors, in bounded time and size."""

import time

import pytest

pytest.importorskip("httpx2")

from fake_server import Fault, Features, serving

from ordinate.audit.server import Budget, Limits, ServerAudit, ServerFault, asked, audit_server, read_key
from ordinate.audit.server.budget import Spent
from ordinate.audit.server.client import Client
from ordinate.errors import InputError, Unavailable

LIMITS = Limits(wait=0.5, size=200_000, faults=2)
BODY = {"model": "tiny", "prompt": "The weather was fine", "max_tokens": 2, "temperature": 0}
REASONS = {
    "stall": "timeout",
    "drops": "timeout",
    "rubbish": "rubbish",
    "endless": "size",
    "redirect": "redirect",
    "broken": "fault",
    "closed": "connection",
}


def audited(url: str, **more) -> ServerAudit:
    settings = {"limits": LIMITS, "budget": Budget(seconds=30), "lengths": (16, 32), "seed": 5} | more
    return audit_server(url, "tiny", **settings)


@pytest.mark.parametrize("manner", REASONS)
def test_an_answer_that_cannot_be_used_is_an_error_with_its_reason(manner):
    with serving(Fault(manner=manner)) as server, Client(server.url, limits=LIMITS, budget=Budget()) as client:
        with pytest.raises(ServerFault) as caught:
            client.post("/completions", BODY)
        assert server.completions <= LIMITS.faults
    assert caught.value.reason == REASONS[manner]
    assert server.url in str(caught.value)


@pytest.mark.parametrize("manner", [*REASONS, "list"])
def test_an_audit_of_such_a_server_is_refused_at_once(manner):
    with serving(Fault(manner=manner)) as server, pytest.raises(Unavailable, match=r"127\.0\.0\.1"):
        audited(server.url)
    assert server.requests < 15


@pytest.mark.parametrize("manner", [*REASONS, "list"])
def test_an_audit_keeps_what_it_found_before_a_server_went_wrong(manner):
    with serving(Fault(manner=manner, after=50, reuse_offset=-1), Features(window=420, chat=False)) as server:
        audit = audited(server.url, checks=["prefix_reuse", "truncation", "side_by_side"])
    assert {finding.kind for finding in audit.findings} == {"prefix_cache"}
    said = [outcome.evidence for outcome in audit.outcomes if outcome.status == "undecided"]
    assert any(REASONS.get(manner, "rubbish") in evidence or "not refused, but broken" in evidence for evidence in said)


def test_a_server_that_stalls_twice_is_not_waited_for_again():
    with serving(Fault(manner="stall", after=40), Features(window=420, chat=False)) as server:
        audit = audited(server.url)
    assert "did not answer in full within 0.5 s" in audit.subject["ended"]
    assert any(outcome.evidence.startswith("not asked:") for outcome in audit.outcomes)


def test_too_many_requests_are_sent_again_and_no_more_often_than_allowed():
    with serving(Fault(busy=True)) as server, Client(server.url, limits=LIMITS, budget=Budget()) as client:
        assert client.post("/completions", BODY).status == 200
        assert server.requests == 2
    once = Limits(busy=1)
    with serving(Fault(busy=True)) as server, Client(server.url, limits=once, budget=Budget()) as client:
        with pytest.raises(ServerFault) as caught:
            client.post("/completions", BODY)
        assert server.requests == 1
    assert caught.value.reason == "busy"


@pytest.mark.parametrize("wait", ["\u00b2", "soon", ""])
def test_a_wait_that_is_no_number_is_passed_over(wait):
    with serving(Fault(busy=True, wait=wait)) as server, Client(server.url, limits=LIMITS, budget=Budget()) as client:
        assert client.post("/completions", BODY).status == 200


def test_no_server_is_an_error_that_names_it():
    with serving() as server:
        url = server.url
    with pytest.raises(Unavailable, match="cannot be reached"):
        audited(url)


def test_the_budget_ends_an_audit_with_what_it_found():
    with serving(Fault(reuse_offset=-1), Features(window=420)) as server:
        audit = audited(server.url, budget=Budget(requests=140), checks=["prefix_reuse", "truncation", "side_by_side"])
        assert server.requests == 140
    assert audit.subject["ended"] == "the budget of 140 requests is spent"
    assert {"prefix_cache"} == {finding.kind for finding in audit.findings}
    with serving(features=Features(window=420)) as server:
        audit = audited(server.url, budget=Budget(tokens=2000), checks=["truncation", "token_counts"])
        assert audit.subject["tokens"] <= 2000
    assert any("of the budget" in outcome.evidence for outcome in audit.outcomes)
    with serving() as server, pytest.raises(InputError, match="the budget of 3 requests is spent, before it is known"):
        audited(server.url, budget=Budget(requests=3))


def test_a_budget_counts_and_refuses():
    budget = Budget(requests=2, tokens=10)
    budget.take(6)
    with pytest.raises(Spent, match="leaves 4, and the next request needs 5"):
        budget.take(5)
    budget.take(4)
    with pytest.raises(Spent, match="2 requests"):
        budget.take(0)
    slow = Budget(seconds=1e-9)
    slow.left()
    time.sleep(1e-6)
    with pytest.raises(Spent, match="s is spent"):
        slow.take(0)


def test_the_key_goes_to_the_server_and_into_no_message(tmp_path):
    file = tmp_path / "key"
    file.write_text("sk-quite-secret\n")
    with serving(features=Features(window=420, key="sk-quite-secret")) as server:
        audit = audited(server.url, key=read_key(file), checks=["token_counts"])
        assert "sk-quite-secret" not in repr(audit)
        with pytest.raises(Unavailable, match="401 invalid key") as caught:
            audited(server.url, key="sk-of-another")
    assert "sk-of-another" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"  \n", b"two words", b"two\nlines", "schlüssel".encode(), b"x" * 5000])
def test_a_file_without_one_key_is_refused(content, tmp_path):
    file = tmp_path / "key"
    file.write_bytes(content)
    with pytest.raises(InputError, match="must hold one key") as caught:
        read_key(file)
    assert str(file) in str(caught.value)
    assert read_key(None) is None


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8080/v1", "ftp://127.0.0.1/v1", "http://", "http://me:secret@127.0.0.1/v1", "http://h/v1?key=1"]
)
def test_other_addresses_are_refused_without_their_secrets(url):
    with pytest.raises(InputError, match="url must") as caught:
        audited(url)
    assert "secret" not in str(caught.value)
    assert "key=1" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"checks": ["prefix_use"]}, "did you mean 'prefix-reuse'"),
        ({"lengths": (4,)}, "lengths must be one or more, each of at least 13 tokens"),
        ({"lengths": ()}, "lengths must be one or more"),
        ({"window": 20}, "window must be at least 64 tokens, got 20"),
        ({"tokenizer": "/nowhere"}, "/nowhere must be a directory with tokenizer.json"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_sent(settings, message):
    with serving() as server:
        with pytest.raises(InputError, match=message):
            audited(server.url, **settings)
        assert server.requests == 0


def test_the_command_takes_the_key_from_one_place_and_needs_a_model(tmp_path, monkeypatch):
    file = tmp_path / "key"
    file.write_text("sk-1")
    monkeypatch.setenv("SOME_KEY", " sk-1 ")
    monkeypatch.delenv("NO_KEY", raising=False)
    with serving(features=Features(window=420, key="sk-1")) as server:
        for place in ({"key_file": file}, {"key_variable": "SOME_KEY"}):
            assert asked(server.url, "tiny", checks=["overrun"], **place).findings == ()
        for place, message in (
            ({"key_file": file, "key_variable": "SOME_KEY"}, "got both"),
            ({"key_variable": "NO_KEY"}, "NO_KEY, which should hold the key, is not set"),
        ):
            with pytest.raises(InputError, match=message):
                asked(server.url, "tiny", **place)
        with pytest.raises(InputError, match="--url needs --model"):
            asked(server.url, None)
