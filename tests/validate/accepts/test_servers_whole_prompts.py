"""Level 1 on servers: cut in silence, refused, counted wrong, or not answered at all."""

import pytest
from fake_server import Fault, Features, serving
from validate.backends.characters import CharacterTokenizer

from ordinate.audit.server import Limits
from ordinate.validate.accepts import accepts
from ordinate.validate.backends.server import Server

WINDOW, INSIDE, BEYOND = 560, 500, 900


def claims(fault, lengths=(BEYOND,), **features):
    offered = Features(window=WINDOW, repeats=True, declares=False, **features)
    limits = Limits(wait=20, faults=1)
    with serving(fault, offered) as fake, Server(fake.url, "tiny", CharacterTokenizer(), limits=limits) as backend:
        return {claim.length: claim for claim in accepts(backend, lengths, around=False)}


def test_what_fits_is_taken_whole_and_what_does_not_is_refused():
    found = claims(Fault(), (INSIDE, BEYOND))
    assert (found[INSIDE].verdict, found[INSIDE].evidence["counted"]) == ("supported", INSIDE)
    assert found[INSIDE].caveats == ()
    assert (found[BEYOND].verdict, found[BEYOND].evidence["outcome"]) == ("refuted", "refused")
    assert found[BEYOND].evidence["status"] == 400


@pytest.mark.parametrize(
    "where, admits",
    [
        ("head", False),
        pytest.param("tail", True, marks=pytest.mark.slow),
        pytest.param("middle", False, marks=pytest.mark.slow),
        pytest.param("head", True, marks=pytest.mark.slow),
        pytest.param("tail", False, marks=pytest.mark.slow),
    ],
)
def test_a_server_that_cuts_in_silence_is_found_whatever_it_counts(where, admits):
    found = claims(Fault(cut=where, admits=admits), forces=True, echo=False)[BEYOND]
    assert found.verdict == "refuted"
    assert found.evidence["outcome"] == f"truncation_{where}", found.why


def test_without_log_probabilities_the_canaries_alone_tell():
    found = claims(Fault(cut="head"), logprobs=False)[BEYOND]
    assert found.evidence["outcome"] == "truncation_head"


def test_a_wrong_count_of_a_whole_prompt_is_a_caveat():
    found = claims(Fault(count=lambda tokens: tokens + 40), (INSIDE,))[INSIDE]
    assert found.verdict == "supported"
    assert found.caveats == (f"the engine counts {INSIDE + 40} prompt tokens, 40 more than were sent",)


@pytest.mark.parametrize("manner", ["rubbish", "closed", "broken"])
def test_a_server_that_does_not_answer_says_nothing_of_a_length(manner):
    # It answers what the backend asks on opening, and a few more.
    found = claims(Fault(manner=manner, after=26), (INSIDE,))[INSIDE]
    assert (found.verdict, found.evidence["outcome"]) == ("inconclusive", "error")


@pytest.mark.parametrize("after", [0, 4, 8])
def test_a_server_that_turns_to_nonsense_is_called_garbled_and_not_cut(after):
    fault, limits = Fault(manner="babble", after=10**6), Limits(wait=20, faults=1)
    offered = Features(window=WINDOW, repeats=True, declares=False, logprobs=False)
    with serving(fault, offered) as fake, Server(fake.url, "tiny", CharacterTokenizer(), limits=limits) as backend:
        assert "answer" in backend.offers  # it was asked what it offers
        fault.after = fake.completions + 9 + after  # the short prompt's nine questions, and some of the long one's
        (found,) = accepts(backend, [INSIDE], around=False)
    assert (found.verdict, found.evidence["outcome"]) == ("inconclusive", "garbled"), found.why
    assert "answers say nothing of this length" in found.why
