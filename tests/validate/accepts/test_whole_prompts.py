"""Level 1 tells a prompt that was taken whole from one that was refused, cut in silence, or answered with rubbish."""

from typing import ClassVar

import pytest
from validate.accepts.repeating import CUTS, Collapsing, Dull, Forgetful, Rambling, Repeating, Turning

from ordinate.errors import InputError, Unavailable
from ordinate.validate.accepts import accepts
from ordinate.validate.accepts.accepts import VERDICTS
from ordinate.validate.accepts.canaries import Canaries
from ordinate.validate.accepts.reading import Reader
from ordinate.validate.backends import Refusal
from ordinate.validate.backends.simulated import Simulated
from ordinate.validate.deadline import Deadline, Late

LIMIT, INSIDE, BEYOND = 800, 600, 1200


def outcomes(backend, lengths=(INSIDE, BEYOND), **settings):
    claims = accepts(backend, lengths, around=False, **settings)
    assert all(claim.level == "L1" for claim in claims)
    return {claim.length: claim for claim in claims}


def test_what_fits_is_supported_and_what_is_refused_is_refuted_as_a_refusal():
    found = outcomes(Simulated(Repeating(), limit=LIMIT))
    assert (found[INSIDE].verdict, found[INSIDE].evidence["outcome"]) == ("supported", "ok")
    assert found[INSIDE].evidence["counted"] == INSIDE
    assert (found[BEYOND].verdict, found[BEYOND].evidence["outcome"]) == ("refuted", "refused")
    assert "exceed the limit" in found[BEYOND].why


@pytest.mark.parametrize("admits", [True, False], ids=["honest", "lying"])
@pytest.mark.parametrize("where", CUTS)
def test_a_cut_in_silence_is_found_and_placed_whatever_is_counted(where, admits):
    found = outcomes(Simulated(Repeating(), limit=LIMIT, cut=CUTS[where], admits=admits))
    assert found[INSIDE].verdict == "supported"
    assert found[BEYOND].verdict == "refuted"
    assert found[BEYOND].evidence["outcome"] == f"truncation_{where}"
    assert any("counts" in caveat for caveat in found[BEYOND].caveats)


@pytest.mark.parametrize("where", CUTS)
def test_a_cut_of_a_few_tokens_is_found_too(where):
    backend = Simulated(Repeating(), limit=LIMIT, cut=CUTS[where])
    (claim,) = accepts(backend, [LIMIT + 20], around=False)
    assert claim.evidence["outcome"] == f"truncation_{where}"


def test_a_model_that_cannot_repeat_leaves_the_count_as_the_only_witness():
    (claim,) = accepts(Simulated(Dull()), [INSIDE], around=False)
    assert (claim.verdict, claim.evidence["outcome"]) == ("inconclusive", "unknown")
    assert f"count of {INSIDE}" in claim.why
    assert "only 0 of 9" in claim.why


def test_a_count_that_admits_a_cut_is_believed_where_the_model_cannot_repeat():
    backend = Simulated(Dull(), limit=LIMIT, cut=CUTS["head"], admits=True)
    (claim,) = accepts(backend, [BEYOND], around=False)
    assert (claim.verdict, claim.evidence["outcome"]) == ("refuted", "truncation")


def test_a_model_that_forgets_but_reads_is_not_taken_for_a_cut():
    (claim,) = accepts(Simulated(Forgetful(700)), [BEYOND], around=False)
    assert claim.verdict == "supported"
    assert set(claim.evidence["repeated"]) < set(range(9))
    assert any("do not come back" in caveat for caveat in claim.caveats)


def test_answers_that_change_by_chance_prove_nothing():
    for reach in (700, 1):
        (claim,) = accepts(Simulated(Rambling(reach)), [BEYOND], around=False)
        assert claim.verdict == "inconclusive"
        assert not any(claim.evidence["read_by_change"].values())


@pytest.mark.parametrize("babble", ["", "!!!! ????", "a a a a a a a a", "such is life"])
def test_rubbish_from_long_prompts_alone_is_degenerate(babble):
    found = outcomes(Simulated(Collapsing(800, babble)))
    assert found[INSIDE].verdict == "supported"
    assert (found[BEYOND].verdict, found[BEYOND].evidence["outcome"]) == ("refuted", "degenerate")


class Remembered(Canaries):
    """Writes each text once, so that many readers can be asked about it."""

    written: ClassVar = {}

    def write(self, length, index=0, *, other=False):
        if (length, index, other) not in self.written:
            self.written[length, index, other] = super().write(length, index, other=other)
        return self.written[length, index, other]


def read(backend):
    return Reader(backend, Remembered(backend.tokenizer)).read(INSIDE)


NONSENSE = ["", "the the the the the", "such is life", None]
"""None: other nonsense to each prompt."""


@pytest.mark.parametrize("babble", NONSENSE, ids=["nothing", "again", "words", "other"])
@pytest.mark.parametrize("scores", [True, False], ids=["scored", "not_scored"])
def test_what_turns_to_nonsense_meanwhile_says_nothing_of_a_length(babble, scores):
    # The short prompt takes nine requests and the long one nine more; what comes after them is asked to find out more.
    for first in range(10, 21):
        for last in (first + 1, first + 5, first + 12, 10**6):
            backend = Simulated(Turning(babble, lambda number, first=first, last=last: first <= number < last))
            if not scores:
                backend.offers = frozenset({"answer"})
            found = read(backend)
            lost = first <= 18
            allowed = {"inconclusive"} if lost else {"supported"}
            if babble is None and last < 10**6:  # nonsense that changes with the text shows that it was read
                allowed.add("supported")
            assert VERDICTS[found.outcome] in allowed, (first, last, found.why)
            if lost and last == 10**6:
                assert found.outcome == "garbled"


@pytest.mark.parametrize("babble", NONSENSE, ids=["nothing", "again", "words", "other"])
def test_every_third_answer_being_nonsense_says_nothing_of_a_length(babble):
    for rest in range(3):
        backend = Simulated(Turning(babble, lambda number, rest=rest: number > 9 and number % 3 == rest))
        assert VERDICTS[read(backend).outcome] == "inconclusive"


class Refusing(Simulated):
    """Refuses every request from one on."""

    def __init__(self, first, last=10**6):
        super().__init__(Repeating())
        self.first, self.last, self.asked = first, last, 0

    def answer(self, prompt, tokens, *, stop=()):
        self.asked += 1
        if self.first <= self.asked < self.last:
            raise Refusal(400, "no")
        return super().answer(prompt, tokens, stop=stop)


@pytest.mark.parametrize("first, last", [(10, 10**6), (13, 10**6), (10, 11), (13, 15)])
def test_what_refuses_everything_or_once_says_nothing_of_a_length(first, last):
    (claim,) = accepts(Refusing(first, last), [INSIDE], around=False)
    assert (claim.verdict, claim.evidence["outcome"]) == ("inconclusive", "garbled")
    assert "refused" in claim.why


class Broken(Simulated):
    """Breaks off where a prompt is longer than so many tokens."""

    def answer(self, prompt, tokens, *, stop=()):
        if len(prompt.ids) > LIMIT:
            raise Unavailable("the line broke off")
        return super().answer(prompt, tokens, stop=stop)


def test_a_line_that_breaks_says_nothing_of_the_length():
    found = outcomes(Broken(Repeating()))
    assert (found[BEYOND].verdict, found[BEYOND].evidence["outcome"]) == ("inconclusive", "error")
    assert "the line broke off" in found[BEYOND].why


def test_what_was_not_asked_in_time_is_inconclusive():
    now = [0.0]

    def left():
        now[0] += 1
        return deadline()

    deadline = Deadline(30, clock=lambda: now[0])
    found = outcomes(Simulated(Repeating()), (INSIDE, BEYOND, 1500), left=left)
    assert [found[length].verdict for length in (INSIDE, BEYOND, 1500)] == ["supported", "supported", "inconclusive"]
    with pytest.raises(Late):
        deadline()


def test_the_limit_itself_is_tried_and_told_where_it_does_not_do_as_its_neighbours():
    backend = Simulated(Repeating(), limit=LIMIT, cut=CUTS["head"])
    claims = {claim.length: claim for claim in accepts(backend, [INSIDE, LIMIT])}
    assert claims[INSIDE].evidence["near"] == {str(INSIDE - 1): "ok", str(INSIDE + 1): "ok"}
    assert claims[LIMIT].evidence["outcome"] == "truncation_head"
    assert claims[LIMIT].evidence["near"][str(LIMIT + 1)] == "truncation_head"


def test_a_room_too_small_for_a_code_is_said():
    (claim,) = accepts(Simulated(Repeating(), limit=LIMIT), [LIMIT - 1], around=False)
    assert claim.verdict == "inconclusive"
    assert "leaves 1 for an answer" in claim.why


def test_a_length_too_short_for_canaries_is_inconclusive():
    (claim,) = accepts(Simulated(Repeating()), [100], around=False)
    assert claim.verdict == "inconclusive"
    assert "does not fit 100" in claim.why


def test_a_server_that_refuses_everything_is_no_verdict_on_a_length():
    (claim,) = accepts(Simulated(Repeating(), limit=50), [INSIDE], around=False)
    assert claim.verdict == "inconclusive"
    assert "even" in claim.why


@pytest.mark.parametrize("mode", ["reasoning", "other"])
def test_modes_without_canaries_are_refused(mode):
    with pytest.raises(InputError, match="canaries are asked for in mode"):
        accepts(Simulated(Repeating()), [INSIDE], mode=mode)
