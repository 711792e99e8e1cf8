"""Times against the length: known terms are found within their intervals, by a clock of the test's own."""

import numpy as np
import pytest
from scipy.optimize import nnls

from ordinate.errors import InputError, Unavailable
from ordinate.validate.backends import Refusal, Reply
from ordinate.validate.backends.base import Backend
from ordinate.validate.deadline import Late
from ordinate.validate.holds import fit, holds, time_lengths
from ordinate.validate.holds.fitting import non_negative
from ordinate.validate.tokenizers import ByteTokenizer

LENGTHS = (200, 400, 800, 1600)


class Clocked(Backend):
    """Takes a + b N + c N² to the first token and `each` for every further one, on a clock of its own."""

    name = "clocked"

    def __init__(self, terms=(0.2, 1e-3, 1e-6), *, each=0.01, spread=0.0, says=True, caches=False, longest=10**6):
        self.terms, self.each, self.spread, self.says, self.caches, self.longest = (
            terms, each, spread, says, caches, longest,
        )  # fmt: skip
        self.now = 0.0
        self.draw = np.random.default_rng(5)
        self.lengths, self.seen = [], set()

    @property
    def identity(self):
        return {"engine": "clocked"}

    @property
    def tokenizer(self):
        return ByteTokenizer()

    @property
    def limit(self):
        return None

    def clock(self):
        return self.now

    def answer(self, prompt, tokens, *, stop=()):  # noqa: ARG002 - says what it says
        length = len(prompt.ids)
        if length > self.longest:
            raise Refusal(400, f"{length} tokens are too many")
        cached = length if self.caches and prompt.ids in self.seen else 0
        self.lengths.append((length, prompt.ids))
        self.seen.add(prompt.ids)
        a, b, c = self.terms
        new = length - cached
        first = (a + b * new + c * new * length) * float(self.draw.lognormal(0, self.spread))
        self.now += first + (tokens - 1) * self.each
        more = {"first": first, "seconds": first + (tokens - 1) * self.each} if self.says else {}
        return Reply("x" * tokens, "length", tokens, length, cached if self.says else None, **more)


@pytest.mark.parametrize("says", [True, False])
@pytest.mark.parametrize("terms", [(0.2, 1e-3, 1e-6), (0.5, 2e-3, 0.0), (0.0, 0.0, 3e-6)])
def test_known_terms_lie_within_their_intervals(terms, says):
    backend = Clocked(terms, spread=0.02, says=says)
    times = time_lengths(backend, LENGTHS, repeats=10, clock=backend.clock)
    cold = [one for one in times.timed if not one.warm]
    found = fit([one.length for one in cold], [one.prefill for one in cold], level=0.999)
    for (low, high), true, scale in zip(found.intervals, terms, (1, 1600, 1600**2), strict=True):
        # Percentiles of a term at its bound of 0 do not reach below it: a part in a thousand of the cost is nothing.
        least = 1e-2 * found.at(1600)[0] / scale
        assert low - least <= true <= high + least
    decode = [one.decode for one in cold if one.decode is not None]
    assert abs(np.median(decode) - 0.01) < (1e-9 if says else 0.02)


def test_without_noise_the_terms_are_exact():
    costs = [0.3 + 1e-4 * n + 2e-7 * n * n for n in LENGTHS]
    found = fit(LENGTHS, costs)
    assert np.allclose((found.constant, found.linear, found.quadratic), (0.3, 1e-4, 2e-7), rtol=1e-6)
    assert np.allclose(found.at(3200), 0.3 + 0.32 + 2.048, rtol=1e-6)
    assert found.share(2) == pytest.approx(2e-7 * 1600**2 / costs[-1])


@pytest.mark.parametrize("length", [3201, 99, 10**9])
def test_a_fit_says_nothing_further_than_a_factor_of_two(length):
    found = fit(LENGTHS, [1.0, 1.1, 1.3, 1.9])
    with pytest.raises(InputError, match="within a factor 2"):
        found.at(length)
    assert found.at(3200)[0] > 1.9
    assert found.at(100)[0] > 0


@pytest.mark.parametrize("seed", range(20))
def test_non_negative_least_squares_is_scipys(seed):
    draw = np.random.default_rng(seed)
    design, values = draw.normal(size=(12, 3)), draw.normal(size=12)
    expected, residual = nnls(design, values)
    found = non_negative(design, values)
    assert np.allclose(found, expected, atol=1e-9)
    assert np.linalg.norm(design @ found - values) == pytest.approx(residual)


def test_the_order_is_drawn_and_every_cold_prompt_is_new():
    backend = Clocked()
    times = time_lengths(backend, LENGTHS, repeats=6, clock=backend.clock, seed=2)
    cold = [one.length for one in times.timed if not one.warm]
    assert sorted(cold) == sorted(LENGTHS * 6)
    assert cold != sorted(cold)
    assert {length for length, _ in backend.lengths[:2]} == {200, 1600}  # to warm up, before what counts
    beginnings = [ids[:30] for _, ids in backend.lengths]
    assert len(set(beginnings)) >= len(cold)


def test_what_a_cache_spares_is_seen_with_its_witness():
    backend = Clocked(caches=True)
    times = time_lengths(backend, LENGTHS, repeats=5, clock=backend.clock)
    warm = [one for one in times.timed if one.warm]
    assert len(warm) == 2 * len(LENGTHS)
    assert all(one.cached == one.length and one.prefill == pytest.approx(0.2) for one in warm)
    again = Clocked(caches=False)
    assert sum(one.warm for one in time_lengths(again, LENGTHS, repeats=5, clock=again.clock).timed) <= 1


def test_claims_hold_the_numbers_and_the_fit():
    backend = Clocked(caches=True)
    claims = holds(backend, LENGTHS, clock=backend.clock)
    by_length = {claim.length: claim for claim in claims if claim.subject == "time and memory"}
    assert {claim.verdict for claim in by_length.values()} == {"supported"}
    assert by_length[400].evidence["prefill_s"][0] == pytest.approx(0.2 + 0.4 + 0.16)
    assert by_length[400].evidence["decode_ms"][0] == pytest.approx(10.0)
    assert by_length[400].evidence["cached_tokens"] == 400
    assert by_length[400].caveats == ("the memory it takes was not seen",)
    (growth,) = [claim for claim in claims if claim.subject == "growth of time"]
    assert growth.evidence["prefill_s"]["c"] == pytest.approx(1e-6)
    assert growth.evidence["prefill_s"]["reach"] == [100, 3200]
    assert growth.evidence["warm"]["400"]["share"] == pytest.approx(0.2 / 0.76)


def test_a_refused_length_is_refuted_and_the_others_are_not():
    backend = Clocked(longest=800)
    claims = {claim.length: claim for claim in holds(backend, LENGTHS, clock=backend.clock) if claim.length}
    assert claims[1600].verdict == "refuted"
    assert "too many" in claims[1600].why
    assert claims[400].verdict == "supported"


def test_want_of_memory_refutes_and_a_broken_line_does_not():
    class Broken(Clocked):
        def __init__(self, why):
            super().__init__()
            self.why = why

        def answer(self, prompt, tokens, *, stop=()):
            assert not stop
            if len(prompt.ids) > 800:
                raise Unavailable(self.why)
            return super().answer(prompt, tokens)

    for why, verdict in (("1600 tokens do not fit into the memory of cuda", "refuted"), ("it stalled", "inconclusive")):
        backend = Broken(why)
        claims = {claim.length: claim for claim in holds(backend, LENGTHS, clock=backend.clock)}
        assert claims[1600].verdict == verdict


def test_what_was_not_timed_in_time_is_inconclusive():
    calls = 0

    def left():
        nonlocal calls
        calls += 1
        if calls > 9:
            raise Late("the time is up")
        return 1.0

    backend = Clocked()
    claims = holds(backend, LENGTHS, clock=backend.clock, left=left)
    assert {claim.verdict for claim in claims if claim.length} <= {"inconclusive", "supported"}
    assert any(claim.verdict == "inconclusive" for claim in claims if claim.length)
    assert any("the time is up" in claim.why for claim in claims)


def test_lengths_next_to_each_other_are_timed_once():
    backend = Clocked()
    claims = holds(backend, (400, 401, 402, 800, 1600), clock=backend.clock)
    assert {length for length, _ in backend.lengths} == {402, 800, 1600}
    assert {claim.length: claim.evidence["measured_at"] for claim in claims if claim.subject == "time and memory"} == {
        400: 402, 401: 402, 402: 402, 800: 800, 1600: 1600,
    }  # fmt: skip


@pytest.mark.parametrize("settings", [{"repeats": 4}, {"steps": 1}, {"lengths": []}])
def test_too_little_to_go_by_is_refused(settings):
    with pytest.raises(InputError):
        time_lengths(**{"backend": Clocked(), "lengths": LENGTHS, **settings})


@pytest.mark.parametrize(
    "lengths, costs", [([1, 2], [1, 1]), ([1, 1, 2], [1, 1, 1]), ([1, 2, 3], [1, 0, 1]), ([1, 2, 3], [1, 1])]
)
def test_a_fit_needs_three_lengths_and_positive_costs(lengths, costs):
    with pytest.raises(InputError):
        fit(lengths, costs)
