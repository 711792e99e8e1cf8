"""Two runs: what was kept, what changed, what was gained, and which runs cannot be compared."""

import math
from dataclasses import replace

import numpy as np
import pytest
from validate_runs import drawn, run, sampled, trial

from ordinate.errors import InputError
from ordinate.validate.compared import to_text
from ordinate.validate.regression import difference, needed
from ordinate.validate.store import Manifest

ONE = trial(lengths=(512, 1024), units=100)


def manifest(*trials, **changes):
    return Manifest("smoke", {"model": "a", "tokenizer": "t"}, 0, trials, **changes)


def everything(one, right):
    return [sampled(r, right(r)) for n in (256, 512) for r in one.requests(one.cell(n, "middle"), 0, 100)]


def test_the_n_of_each_margin_is_that_of_the_formula():
    # z(0.95) + z(0.9) = 1.6449 + 1.2816, squared 8.564; over margin^2, times the variance
    assert needed() == {"accuracy": math.ceil(0.02 * 8.5639 / 0.01**2), "nll": math.ceil(0.0001 * 8.5639 / 0.005**2)}


def test_no_difference_in_a_hundred_units_is_not_yet_equality_within_a_point():
    samples = everything(ONE, lambda _: "right")
    found = difference(manifest(ONE), samples, manifest(ONE), samples)
    (claim,) = found.claims
    assert claim.verdict == "inconclusive"
    assert claim.evidence["places"]["middle"]["difference"] == 0
    # Tango's bound of none of n is z^2 / (n + z^2), below 0.01 from n = 268 on.
    assert claim.evidence["places"]["middle"]["units_needed"] == 268
    assert "268" in claim.why
    assert not found.flips
    assert not found.regressed


def test_a_loss_is_proved_and_its_flips_are_listed():
    before = everything(ONE, lambda _: "right")
    after = everything(ONE, lambda r: "wrong" if r.index % 5 == 0 else "right")
    found = difference(manifest(ONE), before, manifest(ONE), after)
    assert found.claims[0].verdict == "refuted"
    assert found.regressed
    assert [flip.unit for flip in found.flips] == list(range(0, 100, 5))
    assert {flip.became for flip in found.flips} == {"wrong"}
    back = difference(manifest(ONE), after, manifest(ONE), before)
    assert {flip.became for flip in back.flips} == {"right"}
    assert back.claims[0].verdict == "inconclusive"  # better is not equal, and no loss either
    assert "20 answers changed" in to_text(found)


def test_what_the_extension_gained_stands_side_by_side():
    before = drawn(ONE, lambda length, *_: float(length <= 512))
    longer = replace(ONE, lengths=(512, 1024, 2048))
    after = drawn(longer, lambda length, *_: float(length <= 1024))
    subject = {"model": "b", "tokenizer": "t"}
    found = difference(manifest(ONE), before, replace(manifest(longer), subject=subject), after)
    (task,) = found.extension
    assert task.effective == (512, 1024)
    assert task.verdicts == (
        (256, "supported", "supported"),
        (512, "supported", "supported"),
        (1024, "refuted", "supported"),
        (2048, None, "refuted"),
    )
    assert "512 -> 1,024" in to_text(found)
    # Wilson's interval of none of 24, z^2 / (24 + z^2), and of all of 50 with z = 1.96
    scores = {length: (before, after) for length, place, before, after in task.scores() if place == "middle"}
    before, after = scores[1024]
    assert (before.value, before.low, before.high) == (0.0, 0.0, pytest.approx(3.8415 / 27.8415, abs=1e-4))
    assert (after.value, after.low, after.high) == (1.0, pytest.approx(50 / 53.8415, abs=1e-4), 1.0)
    assert scores[2048][0] is None
    assert "0% [0%, 14%] of 24" in to_text(found)
    assert "not tested" in to_text(found)
    assert found.apart == ("model: a and b",)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (replace(manifest(ONE), seed=1), "seed: 0 and 1"),
        (replace(manifest(ONE), subject={"model": "a", "tokenizer": "u"}), "tokenizer: t and u"),
        (manifest(trial(task="indirect")), "near_key (answer) is in one run alone"),
        (manifest(replace(ONE, short=255)), "short of near_key (answer): 256 and 255"),
        (manifest(replace(ONE, filler="noise")), "filler of near_key (answer):  and noise"),
        (manifest(replace(ONE, difficulty=(("keys", 9),))), "near_key (answer) is in one run alone"),
    ],
)
def test_runs_of_other_instances_are_refused_and_the_message_says_why(other, named):
    with pytest.raises(InputError) as error:
        difference(manifest(ONE), [], other, [])
    assert named in str(error.value)


LANGUAGE = trial(task="language_modelling", measure="language", places=("real", "foreign"), units=24)


@pytest.mark.parametrize(("change", "verdict"), [(0.0, "supported"), (0.1, "refuted"), (0.0175, "inconclusive")])
def test_losses_are_equal_within_half_a_percent_or_not(change, verdict):
    def side(shift, seed):
        random = np.random.default_rng(seed)

        def answer(request):
            loss = 3 + 0.2 * (request.index % 6) + shift + float(random.normal(0, 0.003))
            loss += 0.1 * (request.cell.places == "foreign")
            return sampled(request, None, numbers={"loss": loss}, facts={"document": request.index % 6})

        return run(LANGUAGE, answer)

    found = difference(manifest(LANGUAGE), side(0, 1), manifest(LANGUAGE), side(change, 2))
    assert found.claims[0].verdict == verdict


def test_targets_that_follow_from_another_longest_length_are_left_out_and_named():
    first, second = (replace(LANGUAGE, difficulty=(("longest", n), ("target", 256))) for n in (512, 1024))
    found = difference(manifest(ONE, first), [], manifest(ONE, second), [])
    assert len(found.claims) == 1
    assert "language_modelling (language) is not compared" in found.apart[0]
