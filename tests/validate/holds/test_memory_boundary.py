"""The longest that fits, by bisection over processes with a limit, and what memory that grows is called."""

import sys
from pathlib import Path

import pytest

from ordinate.errors import InputError
from ordinate.validate.holds.boundary import Probe, find_boundary, run_limited
from ordinate.validate.holds.memory import Measured, boundary_claim, cache_claim, growth_claim, turns_claim
from ordinate.validate.holds.process import Used, read_used

MIB = 2**20
EACH = MIB  # of a token
LIMIT = 256 * MIB
HOG = Path(__file__).with_name("hog.py")
limited = pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")


def hog(tokens, manner="", *, limit=LIMIT, seconds=60.0):
    return run_limited([sys.executable, str(HOG), str(tokens), str(EACH), manner], tokens, limit=limit, seconds=seconds)


@limited
def test_a_program_of_known_appetite_ends_where_the_limit_says():
    own = 16 * MIB  # of the interpreter, at most
    found = find_boundary(hog, 16, 1024, step=8)
    assert found.fits is not None
    assert found.fails is not None
    assert found.fails - found.fits <= 8
    assert (LIMIT - own) // EACH - 8 <= found.fits <= LIMIT // EACH
    assert len(found.probes) <= 12
    assert {probe.ended for probe in found.probes} == {"fits", "memory"}
    claim = boundary_claim(found, LIMIT, 8)
    assert (claim.verdict, claim.length) == ("supported", found.fits)


@limited
def test_each_way_of_ending_is_told_apart():
    fits, short = hog(8), hog(1000)
    assert (fits.ended, fits.output.strip()) == ("fits", str(8 * EACH))
    assert short.ended == "memory"
    assert "MemoryError" in short.why
    failed = hog(8, "fail")
    assert (failed.ended, failed.why) == ("error", "a fault of another kind")
    late = hog(8, "stall", seconds=1.5)
    assert late.ended == "late"
    assert late.seconds < 30


def test_without_a_limit_it_just_runs():
    assert hog(4, limit=None).ended == "fits"


@pytest.mark.parametrize("step", [1, 7, 64])
@pytest.mark.parametrize("true", [0, 5, 100, 101, 4095, 4096, 9999])
def test_bisection_finds_any_boundary_to_a_step(true, step):
    tried = []

    def probe(length):
        tried.append(length)
        return Probe(length, "fits" if length <= true else "memory")

    found = find_boundary(probe, 5, 5000, step=step, most=40)
    assert len(tried) == len(set(tried)) == len(found.probes)
    assert all(5 <= length <= 5000 for length in tried)
    if true < 5:
        assert (found.fits, found.fails) == (None, 5)
    elif true >= 5000:
        assert (found.fits, found.fails) == (5000, None)
    else:
        assert found.fits <= true < found.fails <= found.fits + step
    assert not found.why


def test_bisection_is_bounded_and_ends_at_what_is_no_want_of_memory():
    found = find_boundary(lambda length: Probe(length, "fits" if length < 999 else "memory"), 1, 10**9, most=12)
    assert len(found.probes) == 12
    assert "12 tries" in found.why
    found = find_boundary(lambda length: Probe(length, "late" if length > 100 else "fits", "slow"), 10, 10**4)
    assert (found.fits, found.fails) == (80, None)
    assert "late: slow" in found.why
    assert boundary_claim(found, LIMIT, 1).caveats == (found.why,)
    with pytest.raises(InputError):
        find_boundary(hog, 10, 9)


def used(tokens, *, per=1000, square=0, rows=1, after=(), kv=None):
    grown = per * tokens + square * tokens**2
    held = per * tokens if kv is None else kv
    return Used(tokens, 10**9, 10**9 + grown, tuple(after), None, held, rows, 50_000, 2, (1.0,))


def of(*several, turns=None):
    return Measured({one.tokens: one for one in several}, {}, turns)


LENGTHS = (1024, 4096, 16384)


def test_memory_that_grows_with_the_length_is_well():
    claim = growth_claim(of(*(used(length, per=30_000) for length in LENGTHS)))
    assert (claim.verdict, claim.evidence["flags"]) == ("supported", [])


def test_a_mask_of_all_pairs_is_flagged():
    claim = growth_claim(of(*(used(length, square=1) for length in LENGTHS)))
    assert claim.verdict == "refuted"
    assert "square" in claim.why
    assert claim.evidence["square_bytes"] == pytest.approx(16384**2, rel=1e-6)


def test_logits_of_all_tokens_are_flagged():
    claim = growth_claim(of(*(used(length, rows=length) for length in LENGTHS)))
    assert claim.verdict == "refuted"
    assert "logits of 16384 tokens" in claim.why


def test_two_lengths_say_nothing_of_a_square():
    assert growth_claim(of(used(1024), used(4096))).verdict == "inconclusive"
    assert growth_claim(of()).verdict == "inconclusive"


@pytest.mark.parametrize("each, verdict", [(0, "supported"), (0.1, "supported"), (1.0, "refuted")])
def test_a_cache_that_stays_behind_after_each_turn_is_a_leak(each, verdict):
    kv = 100 * MIB
    # The first turn warms allocators up.
    after = [10**9, *(2 * 10**9 + round(each * kv * turn) for turn in range(5))]
    claim = turns_claim(of(turns=used(1024, after=after, kv=kv)))
    assert claim.verdict == verdict


def test_turns_that_could_not_be_read_are_inconclusive():
    assert turns_claim(of()).verdict == "inconclusive"
    assert turns_claim(of(turns=used(8, after=(0, 0, 0, 0)))).verdict == "inconclusive"


@pytest.mark.parametrize("factor, verdict", [(1, "supported"), (1.5, "refuted"), (None, "inconclusive")])
def test_a_cache_of_another_size_than_the_shape_says_is_refuted(factor, verdict):
    claim = cache_claim(
        of(used(1000)), lambda tokens, _width: None if factor is None else round(factor * 1000 * tokens)
    )
    assert claim.verdict == verdict
    assert claim.length == 1000


def test_what_a_process_writes_is_read_and_nothing_else():
    with pytest.raises(InputError, match="as JSON"):
        read_used("no JSON")
