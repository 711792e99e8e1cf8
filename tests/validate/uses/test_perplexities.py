"""Perplexities on the card are those of their definitions, and stand there where language modelling is asked."""

import math

import numpy as np
import pytest
from validate_runs import run, sampled, trial

from ordinate.validate.backends.base import Losses
from ordinate.validate.backends.simulated import Simulated
from ordinate.validate.cards import make
from ordinate.validate.perplexity import read_sliding
from ordinate.validate.readers.copying import SuffixReader
from ordinate.validate.sampling import Material, Sampler
from ordinate.validate.store import Manifest
from ordinate.validate.tokenizers import ByteTokenizer
from ordinate.validate.trials import Trial
from ordinate.validate.uses import tally
from ordinate.validate.uses.perplexities import LONG, SLIDING, perplexities
from ordinate.validate.written import to_markdown, to_text


def copies(ids, last):
    """A token costs 0.5 nat where its predecessor was followed by it before, else 3."""
    pairs, found = set(), []
    for i in range(1, len(ids)):
        found.append(0.5 if (ids[i - 1], ids[i]) in pairs else 3.0)
        pairs.add((ids[i - 1], ids[i]))
    return np.array(found[-last:])


class Copying(Simulated):
    """A reader whose losses are `copies`."""

    def losses(self, ids, last):
        nats = copies(list(ids), last)
        return Losses(nats, nats < 1)


@pytest.fixture(scope="module")
def novels():
    return Material(ByteTokenizer())


def test_a_sample_is_a_window_of_a_text_that_is_read_in_sliding_windows(novels):
    level = (("longest", 1024), ("target", 256))
    one = Trial(
        "language_modelling", 512, (1024,), ("real", "foreign"), "language", level, novels.novels_identity, units=24
    )
    sampler = Sampler(Copying(SuffixReader(8)), novels)
    for length in (512, 1024):
        cell = one.cell(length, "real")
        for request in one.requests(cell, 0, 7):
            sample = sampler.sample(request)
            start, stop = sample.facts["target"]
            text = novels.novels[sample.facts["document"]][stop - length - 256 : stop]
            slid = read_sliding(copies, text, length, stride=256)
            assert sample.facts["nats"] == slid.losses[-256:].tolist()
            assert (slid.context[-256:] >= length - 256).all()
            assert stop - start == 256
    assert "nats" not in sampler.sample(one.requests(one.cell(512, "foreign"), 0, 1)[0]).facts


LANGUAGE = trial(
    task="language_modelling", measure="language", lengths=(512, 1024), places=("real", "foreign"), units=24
)
# Of four tokens: gained 2.5 and cheap at last; gained 2.5 but dear; gained 1.5 alone; never changed.
NATS = {256: [3.5, 6.0, 2.0, 1.0], 512: [2.0, 5.0, 1.0, 1.0], 1024: [1.0, 3.5, 0.5, 1.0]}


def samples(nats=True):
    def answer(request):
        cell, document = request.cell, request.index % 6
        facts = {"document": document}
        if cell.places == "real" and nats:
            facts["nats"] = NATS[cell.length]
        loss = float(np.mean(NATS[cell.length])) + (cell.places == "foreign")
        return sampled(request, None, numbers={"loss": loss}, facts=facts)

    return run(LANGUAGE, answer)


def test_perplexities_are_those_of_their_definitions():
    found = {(one.name, one.subject): one for one in perplexities(LANGUAGE, tally(LANGUAGE, samples()), "novels")}
    for length, nats in NATS.items():
        sliding, long = found[SLIDING, f"novels at {length:,} tokens"], found[LONG, f"novels at {length:,} tokens"]
        assert sliding.value == pytest.approx(math.exp(sum(nats) / 4))
        assert long.value == pytest.approx(math.exp(nats[0]))
        assert (sliding.unit, long.unit) == ("perplexity", "perplexity")
        assert "stride 256" in sliding.rule
        assert "24 windows" in sliding.rule
        assert "24 of 96 tokens are key" in long.rule
    assert len(found) == 6


def test_a_text_without_key_tokens_has_no_long_perplexity_and_samples_without_tokens_have_none_named():
    few = [one for one in samples() if one.cell.length < 1024]  # nothing is gained by 2 nats at 512
    found = perplexities(LANGUAGE, tally(LANGUAGE, few), "novels")
    assert [one.value for one in found if one.name == LONG] == [None, None]
    older = perplexities(LANGUAGE, tally(LANGUAGE, samples(nats=False)), "novels")
    assert {one.name for one in older} == {SLIDING}
    assert perplexities(trial(), tally(trial(), []), "near_key") == ()


def test_the_card_shows_them_where_language_modelling_is_asked():
    card = make(Manifest("standard", {"model": "m"}, 0, (LANGUAGE,)), samples())
    assert [one.name for one in card.compatibility] == [SLIDING] * 3 + [LONG] * 3
    for text in (to_text(card), to_markdown(card)):
        assert "sliding perplexity" in text
        assert "LongPPL" in text
        assert f"{math.exp(3.5):.2f}" in text
    assert make(Manifest("smoke", {"model": "m"}, 0, (trial(),)), []).compatibility == ()
