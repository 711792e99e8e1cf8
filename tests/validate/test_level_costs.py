"""What levels beside L3 are said to take is what they take: between the two bounds, whatever answers."""

import pytest
from validate.accepts.repeating import CUTS, Collapsing, Dull, Forgetful, Rambling, Repeating

from ordinate.validate.backends.base import Backend
from ordinate.validate.backends.simulated import Simulated
from ordinate.validate.estimate import Estimate
from ordinate.validate.levels import level_tokens, measure_levels

LENGTHS = [600, 1000]
READERS = {
    "whole": lambda: Simulated(Repeating()),
    "refused": lambda: Simulated(Repeating(), limit=500),
    "cut": lambda: Simulated(Repeating(), limit=800, cut=CUTS["middle"]),
    "dull": lambda: Simulated(Dull()),
    "forgetful": lambda: Simulated(Forgetful(700)),
    "rambling": lambda: Simulated(Rambling(1)),
    "collapsing": lambda: Simulated(Collapsing(700, "such is life")),
}


class Counting(Backend):
    """Counts the tokens of all that another backend is asked."""

    name = "counting"

    def __init__(self, inner: Simulated) -> None:
        self.inner, self.tokens, self.offers = inner, 0, inner.offers

    @property
    def identity(self):
        return self.inner.identity

    @property
    def tokenizer(self):
        return self.inner.tokenizer

    @property
    def limit(self):
        return self.inner.limit

    def answer(self, prompt, tokens, *, stop=()):
        self.tokens += len(prompt.ids) + tokens
        return self.inner.answer(prompt, tokens, stop=stop)

    def choices(self, prompt, options):
        self.tokens += len(prompt.ids) + len(options[0])
        return self.inner.choices(prompt, options)


@pytest.mark.parametrize("level", ["L1", "L2"])
@pytest.mark.parametrize("reader", READERS)
def test_a_level_takes_no_less_and_no_more_than_was_said(reader, level):
    backend = Counting(READERS[reader]())
    lengths = LENGTHS if level == "L2" else [600]
    least, most = level_tokens(backend, lengths, [level])
    measure_levels(backend, lengths, [level])
    assert least <= backend.tokens <= most
    if reader == "whole" and level == "L2":  # no more than twice what is taken where all goes well
        assert most <= 2 * backend.tokens


def test_levels_add_up_and_what_needs_no_tokens_adds_none():
    backend = READERS["whole"]()
    parts = [level_tokens(backend, LENGTHS, [level]) for level in ("L1", "L2", "P")]
    assert parts[2] == (0, 0)  # there is neither a model nor a server to audit
    assert level_tokens(backend, LENGTHS, ["L1", "L2", "P", "L3"]) == tuple(map(sum, zip(*parts, strict=True)))
    assert level_tokens(backend, [600], ["L2"])[0] == 600
    assert level_tokens(backend, [600, 604], ["L2"])[0] == 604  # nearer than 1 %: measured once


def test_an_estimate_tells_levels_apart_and_in_all():
    levels = {"levels": ("L1", "L2"), "level_least": 2_000, "level_most": 900_000, "level_seconds": 1800.0}
    found = Estimate(10_000, 40_000, 50, rate=100.0, **levels)
    assert found.tokens == (12_000, 940_000)
    assert found.seconds == (20 + 100, 1800 + 400)  # levels end in half an hour, whatever they take
    words = " ".join(found.sentences())
    assert "2k to 900k tokens more for L1, L2, which end after 30 min at the latest (in all 12k to 940k)" in words
    alone = Estimate(0, 0, 0, levels=("L1",), level_least=2_000, level_most=9_000, level_seconds=60.0)
    assert alone.sentences() == ("2k to 9k tokens for L1, which end after 60 s at the latest",)
