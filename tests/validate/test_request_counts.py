"""The requests that an estimate tells are those that a server gets, counted there."""

import pytest
from fake_server import Features, serving
from validate.backends.characters import CharacterTokenizer

from ordinate.validate.backends.server import Server
from ordinate.validate.estimate import Estimate, estimate
from ordinate.validate.preparing import Asked, prepare
from ordinate.validate.sampling import Material, Sampler, counter
from ordinate.validate.trials import Trial

pytest.importorskip("httpx2")

MATERIAL = Material(CharacterTokenizer())
TARGET = 20
TRIALS = {
    "answer": Trial("near_key", 600, (), filler="noise", reserve=4, difficulty=(("demonstrations", 0),)),
    "margin": Trial("near_key", 600, (), measure="margin", filler="noise", difficulty=(("demonstrations", 0),)),
    "copy": Trial("associative_copy", 200, (), ("start",), "copy", difficulty=(("value", 5),)),
    "language": Trial(
        "language_modelling",
        200,
        (),
        ("real",),
        "language",
        difficulty=(("longest", 200), ("target", TARGET)),
        filler=MATERIAL.novels_identity,
    ),
}
ROWS = {"answer": 1, "margin": 4, "copy": 2, "language": 1}
"""Of a sample: two answers behind each of two prompts, two copies, one text."""


@pytest.mark.parametrize("measure", TRIALS)
@pytest.mark.parametrize("echo", [True, False])
def test_a_sample_takes_as_many_requests_as_were_counted(echo, measure):
    trial = TRIALS[measure]
    with (
        serving(features=Features(forces=not echo, echo=echo, window=2000)) as fake,
        Server(fake.url, "tiny", CharacterTokenizer()) as backend,
    ):
        sampler = Sampler(backend, MATERIAL)
        count, taken = counter(sampler.kitchen), []
        for request in trial.requests(trial.cells[0], 0, 3):
            before = fake.requests
            sample = sampler.sample(request)
            assert sample.outcome not in ("refused", "error"), sample.why
            taken.append(fake.requests - before)
            assert count(request) == taken[-1]
        found = estimate([trial], count=count, stepped=backend.scored == "token")
    if echo:
        assert set(taken) == {ROWS[measure]}
        assert (found.requests, found.single) == (24 * ROWS[measure], 0)
    elif measure != "margin":  # whose answers have each their own tokens
        each = {"answer": 1, "copy": 2 * 5, "language": TARGET}[measure]
        assert set(taken) == {each}
        assert (found.requests, found.single) == (24 * each, 0 if measure == "answer" else 24 * each)
    else:
        assert found.single == found.requests > 24 * 4


def test_a_run_tells_the_requests_of_one_token_before_it_begins():
    """24 units at two lengths, two copies of 8 tokens each."""
    asked = Asked("smoke", lengths=(300, 400), tasks=("associative_copy",))
    for echo, said in (
        (True, "in 96 requests"),
        (False, "in 768 requests, 768 of them for the log-probability of one token each"),
    ):
        with (
            serving(features=Features(forces=not echo, echo=echo)) as fake,
            Server(fake.url, "tiny", CharacterTokenizer()) as backend,
        ):
            words = prepare(backend, asked).estimate.sentences()
        assert words[0].endswith(said)
        assert words[1].endswith("for each token" if echo else "for each token, and so do requests of one token")


def test_a_shard_tells_its_own_requests():
    trial, sent = TRIALS["copy"], []
    for i in range(5):
        found = estimate([trial], shard=(i, 5), count=lambda request: request.index, stepped=True)
        assert found.single == found.requests
        sent.append(found.requests)
    assert sent == [sum(range(i, 24, 5)) for i in range(5)]
    assert Estimate(1, 2, 3).sentences() == ("1 tokens where every task is at its floor, at most 2 in 3 requests",)
