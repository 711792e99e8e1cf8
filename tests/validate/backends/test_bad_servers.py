"""Servers that misbehave: each request of several threads ends in a reply, a refusal or a named error, in time."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from fake_language_model import encode
from fake_server import Fault, Features, serving
from validate.backends.characters import CharacterTokenizer
from validate.backends.given import prompt

from ordinate.audit.server import Limits, ServerFault
from ordinate.errors import Unavailable
from ordinate.validate.backends import Refusal, Reply
from ordinate.validate.backends.server import Server

THREADS, REQUESTS = 4, 8
# Only what never answers may wait so little: a busy machine takes longer over an answer.
STALLED, ANSWERED = 0.4, 20.0
LIMITS = Limits(wait=ANSWERED, pause=0.3, busy=6, faults=2, size=2**20)
# What a machine with other work may take on top.
SLACK = 8.0
TEXT = "The weather was fine, and so they walked to the river."


def asked(text, mode="base"):
    return prompt(encode(text), text, mode)


def outcome(used, one, tokens=4):
    try:
        return used.answer(one, tokens)
    except Unavailable as fault:
        return fault


def all_outcomes(fault, features=None, limits=LIMITS, one=None, *, later=True):
    """What several threads get, how long it took, and the backend; the fault is planted once the server is known."""
    sound = Fault()
    with serving(sound if later else fault, features or Features(slots=4)) as fake:
        used = Server(fake.url, "tiny", CharacterTokenizer(), limits=limits, concurrency=THREADS)
        with used:
            fake.fault = fault
            fake.completions = 0
            began = time.monotonic()
            with ThreadPoolExecutor(THREADS) as pool:
                prompts = [one or asked(f"{number} {TEXT}") for number in range(REQUESTS)]
                found = list(pool.map(lambda each: outcome(used, each), prompts))
            return found, time.monotonic() - began, used.repeated


@pytest.mark.parametrize("cut", ["head", "middle", "tail"])
@pytest.mark.parametrize("admits", [True, False])
def test_a_silent_truncation_shows_in_the_count_where_the_server_admits_it(cut, admits):
    long = asked("x" * 900)
    found, took, _ = all_outcomes(Fault(cut=cut, admits=admits), one=long)
    assert all(isinstance(each, Reply) for each in found)
    counted = {each.prompt_tokens for each in found}
    # where it does not admit it, only canaries can tell
    assert counted == ({639} if admits else {900})
    assert took < SLACK


def test_half_of_the_answers_are_429_and_all_requests_are_answered():
    found, took, repeated = all_outcomes(Fault(busy=True), later=False)
    assert all(isinstance(each, Reply) for each in found), found
    assert repeated["busy"] > 0
    assert took < SLACK


def test_429_without_end_is_named():
    found, took, repeated = all_outcomes(Fault(manner="busy"), limits=Limits(pause=0.05, busy=3))
    assert all(isinstance(each, ServerFault) and each.reason == "busy" for each in found)
    assert {str(each).split(" answered ")[1] for each in found} == {"429, too many requests, 3 times in a row"}
    assert repeated["busy"] == 3 * REQUESTS
    assert took < SLACK


NAMED = {
    "stall": ("timeout", "did not answer in full within 0.4 s"),
    "drops": ("timeout", "did not answer in full within 0.4 s"),
    "endless": ("size", "more than 1048576 bytes"),
    "rubbish": ("rubbish", "must answer with JSON, got '<html>fine</html>'"),
    "list": ("rubbish", "must answer with a completion"),
    "redirect": ("redirect", "which is not followed"),
    "broken": ("fault", "answered 500 2 times: out of memory"),
    "closed": ("connection", "cannot be reached, or broke off"),
    "mute": ("rubbish", "which has no text"),
    "half": ("connection", "ended its stream before the answer's end"),
    "late": ("fault", "broke off with: out of memory"),
}


@pytest.mark.parametrize("manner", list(NAMED))
def test_what_a_server_does_wrong_is_named_in_bounded_time(manner):
    reason, message = NAMED[manner]
    features = Features(streams=manner in ("half", "late"))
    limits = Limits(wait=STALLED if reason == "timeout" else ANSWERED, pause=0.3, faults=2, size=2**20)
    found, took, repeated = all_outcomes(Fault(manner=manner), features, limits)
    for each in found:
        assert isinstance(each, ServerFault), each
        assert not isinstance(each, Refusal)
        assert each.reason == reason
        assert message in str(each)
    assert took < SLACK
    if manner in ("broken", "closed"):
        # each request was sent twice and no more
        assert repeated["fault" if manner == "broken" else "connection"] == 2 * REQUESTS


def test_a_stall_in_the_middle_of_a_run_costs_no_more_than_its_requests():
    found, took, _ = all_outcomes(Fault(manner="stall", after=5), limits=Limits(wait=2.0, pause=0.3, faults=2))
    kinds = Counter(type(each).__name__ for each in found)
    assert kinds == {"Reply": 5, "ServerFault": 3}
    assert took < SLACK


@pytest.mark.parametrize("count", [lambda n: n - 3, lambda n: 10 * n, lambda n: 0 * n, lambda n: -n])
def test_a_lie_about_counts_is_passed_on_as_it_was_said(count):
    found, took, _ = all_outcomes(Fault(count=count), one=asked(TEXT))
    assert {each.prompt_tokens for each in found} == {count(len(TEXT))}
    assert took < SLACK


def test_a_refusal_of_a_length_is_a_result():
    found, _, repeated = all_outcomes(Fault(refuses_from=20, reason="too long for us"))
    assert all(isinstance(each, Refusal) and "too long for us" in str(each) for each in found)
    assert repeated == {"busy": 0, "fault": 0, "connection": 0}


def test_a_refusal_without_a_reason_is_a_named_error():
    found, _, _ = all_outcomes(Fault(manner="silent"))
    for each in found:
        assert type(each) is Unavailable
        assert "answered 400: no reason given" in str(each)


@pytest.mark.parametrize("manner", ["stall", "rubbish", "broken", "closed", "endless"])
def test_a_server_that_is_bad_from_the_start_is_not_opened(manner):
    began = time.monotonic()
    limits = Limits(wait=STALLED if manner == "stall" else ANSWERED, pause=0.1, faults=2, size=2**20)
    with serving(Fault(manner=manner)) as fake, pytest.raises(Unavailable) as fault:
        Server(fake.url, "tiny", CharacterTokenizer(), limits=limits)
    assert fake.url in str(fault.value)
    assert time.monotonic() - began < SLACK
