"""The levels without tasks, one after another, within a bounded time."""

import pytest
from validate.accepts.repeating import Repeating

from ordinate.errors import InputError
from ordinate.validate.backends.simulated import Simulated
from ordinate.validate.levels import measure_levels

LENGTHS = (420, 600, 840)


def test_every_level_gives_its_claims_in_order():
    told = []
    claims = measure_levels(
        Simulated(Repeating(), limit=700),
        LENGTHS,
        ["P", "L2", "L1"],
        around=False,
        progress=lambda *one: told.append(one),
    )
    assert [claim.level for claim in claims] == sorted((claim.level for claim in claims), key=["L1", "L2", "P"].index)
    assert {(claim.length, claim.verdict) for claim in claims if claim.level == "L1"} == {
        (420, "supported"),
        (600, "supported"),
        (840, "refuted"),
    }
    assert {claim.verdict for claim in claims if claim.level == "P"} == {"not applicable"}
    assert {stage for stage, _, _ in told} == {"accepts", "holds"}
    assert all(0 <= done <= total for _, done, total in told)


def test_when_no_time_is_left_every_claim_is_inconclusive():
    claims = measure_levels(Simulated(Repeating(), limit=700), LENGTHS, ["L1", "L2", "P"], seconds=1e-6)
    assert {claim.level for claim in claims} == {"L1", "L2", "P"}
    assert {claim.verdict for claim in claims} == {"inconclusive"}


@pytest.mark.parametrize("levels", [[], "L1", ["L3"], ["R"], ["L4"]])
def test_other_levels_are_refused(levels):
    with pytest.raises(InputError, match="level"):
        measure_levels(Simulated(Repeating()), LENGTHS, levels)
