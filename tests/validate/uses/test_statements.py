"""What claims say, and the claims of stability."""

from dataclasses import replace

import pytest
from validate_runs import drawn, run, sampled, trial

from ordinate.validate.claims import STABILITY
from ordinate.validate.uses import claims, subjects, tally

PLACES = ("start", "middle", "end")


def stability(right, *, units=100):
    one = trial(places=PLACES, units=units)
    return next(c for c in claims(one, tally(one, drawn(one, right))) if (c.ability, c.length) == (STABILITY, 512))


def test_a_reader_that_loses_the_middle_is_unstable():
    found = stability(lambda length, places, _: 0.98 if length == 256 or places != "middle" else 0.55)
    assert found.verdict == "refuted"
    assert found.evidence["worst"] == "middle"
    assert found.evidence["right_at_best_wrong_at_worst"] > 5


def test_a_reader_that_reads_nothing_in_the_middle_is_unstable_and_refuted_at_any_length():
    one = trial(places=PLACES)
    found = claims(one, tally(one, drawn(one, lambda _, places, __: 0.05 if places == "middle" else 0.95)))
    assert [(c.ability, c.length, c.verdict) for c in found] == [
        ("retrieve", 256, "refuted"),
        (STABILITY, 256, "refuted"),
    ]
    assert found[0].why.startswith("already 0 of 24 right at 256 tokens with evidence at 'middle', against")


def test_stable_needs_equality_to_be_proved():
    # Nothing but right answers end at 50 units, and 50 equal pairs leave 5.1 points open; a margin of 5 is asked.
    assert stability(lambda *_: 1.0).verdict == "inconclusive"
    one = trial(places=PLACES, units=100)
    samples = [
        sampled(request)
        for length in (256, 512)
        for place in PLACES
        for request in one.requests(one.cell(length, place), 0, 100)
    ]
    (found,) = [c for c in claims(one, tally(one, samples)) if (c.ability, c.length) == (STABILITY, 512)]
    assert found.verdict == "supported"
    assert found.evidence["consistent"] == 1.0


def test_unread_answers_are_no_consistent_answers():
    one = trial(places=PLACES, units=24)
    samples = run(one, lambda request: sampled(request, "right" if request.cell.length == 256 else "unparsed"))
    (found,) = [c for c in claims(one, tally(one, samples)) if (c.ability, c.length) == (STABILITY, 512)]
    assert found.evidence["consistent"] == 0.0
    assert found.evidence["flips"] == 0.0


@pytest.mark.parametrize("task, consistent", [("citation", 1.0), ("ordinal_recall", 0.0)])
def test_a_set_is_the_same_answer_in_any_order_and_a_line_is_not(task, consistent):
    one = trial(task=task, places=("spread", "reversed"), units=24)
    said = {"spread": ("160", "800"), "reversed": ("800", "160")}
    samples = run(one, lambda request: sampled(request, parsed=said[request.cell.places]))
    (found,) = [c for c in claims(one, tally(one, samples)) if (c.ability, c.length) == (STABILITY, 512)]
    assert found.evidence["consistent"] == consistent


def test_claims_tell_their_counts_and_what_went_wrong():
    one = trial(lengths=(512,), units=50, controls=("no_context",))

    def answer(request):
        cell = request.cell
        outcome = "right" if cell.length == 256 else ("unparsed", "refused", "error", "wrong")[request.index % 4]
        return sampled(request, outcome, counted=cell.length - (cell.length > 256))

    short, long = claims(one, tally(one, run(one, answer)))
    assert (short.verdict, long.verdict) == ("supported", "refuted")
    assert "0 of 24 right, against 24 of 24 at 256 tokens" in long.why
    place = long.evidence["places"]["middle"]
    assert (place["right"], place["units"], place["look"]) == (0, 24, 24)
    assert place["high"] == pytest.approx(0.138, abs=1e-3)  # Wilson's bound of none of 24
    said = " ".join(long.caveats)
    assert "6 of 24 answers could not be read" in said
    assert "12 of 24 requests were refused or ended in an error" in said
    assert "the engine counted -1 to -1 prompt tokens beside 512" in said
    assert "answered without its evidence (no_context): 12 of 12 right" in " ".join(short.caveats)


def test_trials_of_one_task_have_names_of_their_own():
    one = trial()
    harder = replace(one, difficulty=(("keys", 9),))
    other = replace(one, filler="noise")
    assert subjects([one, harder]) == ("near_key", "near_key, keys 9")
    assert len(set(subjects([one, other, harder]))) == 3
