import re

import pytest

from ordinate.prove.result import (
    Answer,
    Change,
    Compared,
    Context,
    Count,
    Counts,
    Estimate,
    Gap,
    GrowingContext,
    LossByPosition,
    Passkeys,
    PositionGap,
    Question,
    Range,
)
from ordinate.prove.verdict import sign, verdict


def loss(original, extended, error=0.01):
    return Compared(
        Estimate(original, 0.2, 100), Estimate(extended, 0.2, 100), Estimate(extended - original, error, 100)
    )


def losses(inside, *late):
    ranges = [
        Range(0, 100, loss(*inside)),
        *[Range(100 + 50 * i, 150 + 50 * i, loss(*one)) for i, one in enumerate(late)],
    ]
    past = None
    if late:
        means = [sum(values) / len(late) for values in zip(*late, strict=True)]
        past = Range(100, 100 + 50 * len(late), loss(*means))
    return LossByPosition(200, 64, ranges, ranges, ranges[0], past)


def keys(original, extended, asked=6):
    within = Question("A", "123456", 10, 20, 90, Answer("123456", True, 0.1), Answer("123456", True, 0.1))
    end = Counts(200, Count(original, asked, (0.0, 1.0)), Count(extended, asked, (0.0, 1.0)))
    return Passkeys("", "", [within], [end])


GROWING = GrowingContext(
    256,
    32,
    [Context(50, 10, loss(4.0, 4.1)), Context(100, 60, loss(3.5, 3.7))],
    [Change(Estimate(0, 0, 256), Estimate(0, 0, 256)), Change(Estimate(-0.5, 0.04, 256), Estimate(-0.4, 0.03, 256))],
)
GAPS = PositionGap(
    3,
    20,
    64,
    [Gap(10, True, loss(3, 3)), *[Gap(distance, False, loss(4, 3)) for distance in (50, 100, 150, 181, 400)]],
    [Change(Estimate(step / 10, 0.05, 30), Estimate(step / 20, 0.05, 30)) for step in range(6)],
)


def words(found_losses, found_keys):
    found = verdict(found_losses, found_keys, GROWING, GAPS, window=100, target=200)
    return found.outcome, found.headline, " ".join(found.findings)


@pytest.mark.parametrize(
    "late, read, outcome",
    [
        ((5.0, 3.2), (0, 6), "better"),
        ((5.0, 3.2), (3, 3), "better"),
        ((3.2, 3.2), (0, 6), "better"),
        ((3.2, 5.0), (6, 0), "worse"),
        ((3.2, 5.0), (3, 3), "worse"),
        ((3.2, 3.2), (6, 5), "worse"),
        ((5.0, 3.2), (6, 0), "mixed"),
        ((3.2, 5.0), (0, 6), "mixed"),
        ((3.2, 3.21), (2, 2), "no clear difference"),
    ],
)
def test_the_outcome_follows_from_loss_and_keys_past_the_window(late, read, outcome):
    assert words(losses((3.5, 3.5), late), keys(*read))[0] == outcome


def test_the_headline_holds_the_numbers():
    outcome, headline, _ = words(losses((3.5, 3.53), (5.0, 3.2)), keys(0, 6))
    assert outcome == "better"
    assert headline == (
        "Past 100 tokens the extended model does better than the original: its loss is 3.20 against 5.00 nats a token, "
        "and it reads 6 of 6 passkeys against 0 of 6."
    )


def test_a_bad_extension_is_said_to_cost_and_to_be_worse():
    outcome, headline, findings = words(losses((3.05, 4.82), (3.3, 4.2), (3.4, 4.1)), keys(4, 1))
    assert outcome == "worse"
    assert "does worse than the original" in headline
    assert "the extension costs 1.770 ± 0.010 nats a token" in findings
    assert "clearly worse in every range from position 0 to the end; in the last one by 0.700 ± 0.010" in findings
    assert "better" not in headline + findings


def test_where_the_extended_model_becomes_better_for_good_is_found():
    _, _, findings = words(losses((3.0, 3.2), (3.3, 3.1), (3.3, 3.301), (4.9, 3.2), (6.2, 3.4)), keys(0, 6))
    assert "clearly better in every range from position 200 to the end; in the last one by 2.800 ± 0.010" in findings
    assert "clearly worse in every range" not in findings


def test_a_difference_inside_two_standard_errors_is_not_called_clear():
    assert sign(Estimate(-0.019, 0.01, 9)) == 0
    assert sign(Estimate(-0.021, 0.01, 9)) == -1
    assert sign(Estimate(0.021, 0.01, 9)) == 1
    assert sign(Estimate(5.0, None, 9)) == 0
    _, _, findings = words(losses((3.5, 3.51), (5.0, 3.2)), keys(0, 6))
    assert "the two models do not clearly differ (+0.010 ± 0.010 nats a token)" in findings


def test_without_positions_past_the_window_nothing_is_claimed_there():
    outcome, headline, _ = words(losses((3.5, 3.4)), keys(0, 6))
    assert outcome == "not tested"
    assert not re.search("better|worse", headline)


def test_keys_within_and_past_the_window_are_counted_apart():
    _, _, findings = words(losses((3.5, 3.5), (5.0, 3.2)), keys(1, 5))
    assert "Asked within the window, the original reads 1 of 1 passkeys and the extended model 1 of 1." in findings
    assert "Asked after 200 tokens, the original reads 1 of 6 and the extended model 5 of 6." in findings


def test_growing_context_and_gaps_are_told_with_their_errors():
    _, _, findings = words(losses((3.5, 3.5), (5.0, 3.2)), keys(1, 5))
    assert (
        "from 50 to 100 tokens, the loss of the same 256 tokens changes by −0.500 ± 0.040 nats in the original"
        in findings
    )
    # Of the distances, 150 is the last whose 20 tokens all lie below the target of 200.
    assert (
        "to position 150 changes its loss by +0.300 ± 0.050 nats a token in the original and by +0.150 ± 0.050"
        in findings
    )
