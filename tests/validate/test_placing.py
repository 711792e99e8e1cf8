"""Layouts: evidence is not told from decoys by where it stands, and yet stands where it was asked to."""

from itertools import accumulate, pairwise

import numpy as np
import pytest
from scipy import stats
from validate_prompts import builder, laid_out, made, words
from validate_samples import SHORTEST, TOKENIZERS, tokenizer

from ordinate.errors import InputError
from ordinate.validate.builder import PLACES
from ordinate.validate.builder.placing import checked, gaps, ordered
from ordinate.validate.streams import stream
from ordinate.validate.tasks import task, task_names

TASKS = task_names()
LOTS = [name for name in TASKS if not made(name).instance(0, 0).ordered]
"""Tasks whose records stand in an order by lot."""
PAIRED = [name for name in TASKS if made(name).members == 2]
TOGETHER = ("start", "middle", "end")


def spaces(counts: list[int], evidence: list[bool], places: str | tuple[float, ...], filler: int, apart: float = 0.0):
    """The layout where any number of tokens but 1 and 2 can be made."""
    return gaps(counts, evidence, places, apart, filler, lambda tokens: tokens not in (1, 2), stream(0, "layout", 1))


@pytest.mark.parametrize("apart", [0.0, 0.05])
@pytest.mark.parametrize("places", PLACES)
def test_a_named_place_is_laid_out_without_regard_to_what_is_evidence(places: str, apart: float) -> None:
    """The law: any of the records could be the evidence, and the text would stand as it does."""
    generator = np.random.default_rng(4)
    for _ in range(50):
        counts = generator.integers(5, 60, 8).tolist()
        roles = (generator.random(8) < 0.4).tolist()
        first = spaces(counts, roles, places, 3000, apart)
        assert first == spaces(counts, [not one for one in roles], places, 3000, apart)
        assert sum(first[0]) == 3000


def test_named_places_are_the_formula_s() -> None:
    counts, filler = [20, 30, 10, 40], 900
    draws = stream(0, "layout", 1).random(4)
    for places, wanted in {
        "start": [0, 0, 0, 0],
        "middle": [450] * 4,
        "end": [900] * 4,
        "spread": [int(900 * (i + u) / 4) for i, u in enumerate(draws)],
        "reversed": [900 - int(900 * (i + u) / 4) for i, u in enumerate(draws)][::-1],
    }.items():
        found, asked = spaces(counts, [True] * 4, places, filler)
        before = list(accumulate(counts, initial=0))[:-1]
        assert asked == [place + token for place, token in zip(wanted, before, strict=True)]
        assert list(accumulate(found))[:-1] == wanted  # here sentences can make each of the gaps
    # the beginnings of neighbours are 0.1 of 1000 tokens apart, and what is left stands before and behind
    found, asked = spaces(counts, [True] * 4, "middle", filler, 0.1)
    assert [two - one for one, two in pairwise(asked)] == [100, 100, 100]
    assert found[1:-1] == [80, 70, 90]
    assert found[0] == found[-1] == 330


@pytest.mark.parametrize("name", LOTS)
def test_evidence_has_no_rank_of_its_own(name: str) -> None:
    """With the law above: neither distance nor place tells it. Only the two members of a pair share an order."""
    source, found, expected = made(name), [0] * 40, [0.0] * 40
    for unit in range(200):
        instance = source.instance(6, source.members * unit, demonstrations=0)
        share = len(instance.evidence) / len(instance.records)
        for rank, record in enumerate(ordered(instance, "start")):
            found[rank] += record.role == "evidence"
            expected[rank] += share
    ranks = sum(share > 0 for share in expected)
    statistic = sum((n - share) ** 2 / share for n, share in zip(found[:ranks], expected, strict=False))
    # evidence of one instance takes ranks without putting back, which makes the sum smaller than chi-squared
    assert statistic < stats.chi2.ppf(0.9999, ranks - 1), found[:ranks]


@pytest.mark.parametrize("name", TASKS)
def test_nothing_stands_within_half_the_prompt_where_all_is_asked_to_stand_at_the_start(name: str) -> None:
    """A reader of the last W tokens sees no record of a prompt of 2 W, whatever W is, from the shortest prompt on."""
    for unit in range(2):
        instance = made(name).instance(5, made(name).members * unit)
        needed = builder().needed(instance)
        for length in (2 * needed, 2 * needed + 1, 5 * needed):
            spans = laid_out(instance, length, "start").spans
            assert max(stop for _, stop in spans.values()) <= length // 2


@pytest.mark.parametrize("name", TASKS)
def test_every_record_stands_where_the_layout_asked(name: str) -> None:
    """To a sentence of the filler: only numbers below the shortest sums cannot be made."""
    source, exact, records = task(name, words(tokenizer("smollm2"))), 0, 0
    for index, places in enumerate(TOGETHER * 2):
        prompt = builder(tokenizer("smollm2")).build(source.instance(5, index), 2048, places=places)
        for placed in prompt.placed.values():
            assert abs(placed.start - placed.requested) <= 12
            exact += placed.start == placed.requested
            records += 1
    assert exact > 0.8 * records


@pytest.mark.parametrize("tokens", TOKENIZERS)
@pytest.mark.parametrize("name", PAIRED)
def test_the_members_of_a_pair_differ_in_evidence_question_and_nonce_alone(name: str, tokens: str) -> None:
    source, length = task(name, words(tokenizer(tokens))), 4 * SHORTEST[tokens]
    for unit in range(len(PLACES)):
        places = PLACES[unit]
        one, other = (source.instance(2, 2 * unit + member) for member in range(2))
        first, second = (builder(tokenizer(tokens)).build(member, length, places=places) for member in (one, other))
        assert first.spans == second.spans
        assert (first.context, first.question) == (second.context, second.question)
        assert first.nonce != second.nonce
        changed = [a.name for a, b in zip(one.records, other.records, strict=True) if a != b]
        allowed = [first.spans[record] for record in changed]
        if one.question != other.question:
            allowed.append(first.question)
        nonce = len(tokenizer(tokens).encode(first.nonce or "")) + len(tokenizer(tokens).bos)
        differ = [i for i, pair in enumerate(zip(first.ids, second.ids, strict=True)) if pair[0] != pair[1]]
        assert {i for i in differ if i >= nonce} <= {i for start, stop in allowed for i in range(start, stop)}
        assert any(i >= nonce for i in differ)


def test_shares_are_exact_for_the_evidence_and_the_others_stand_beside_it() -> None:
    counts, roles = [20, 30, 10, 40, 25, 15], [False, True, False, False, True, False]
    found, asked = spaces(counts, roles, (0.2, 0.7), 2000)
    context = 2000 + sum(counts)
    assert asked[1] == round(0.2 * (context - 30))
    assert asked[4] == round(0.7 * (context - 25))
    starts = [gap + token for gap, token in zip(accumulate(found[:-1]), accumulate([0, *counts[:-1]]), strict=True)]
    assert starts == asked
    assert [gap > 0 for gap in found].count(True) == 3  # before, between and behind two groups
    # one share: the first evidence record begins there, and all others stand before and behind it
    found, asked = spaces(counts, roles, (0.5,), 2000)
    assert asked[1] == round(0.5 * (context - 30))
    assert found[1:-1] == [0] * 5
    # shares nearer to each other than the records between them leave the second where it can be
    found, asked = spaces(counts, roles, (0.5, 0.5), 2000)
    assert asked[1] == round(0.5 * (context - 30))
    assert found[1:-1] == [0] * 5


def test_shares_without_evidence_lay_out_what_there_is() -> None:
    found, asked = spaces([20, 30, 10], [False] * 3, (0.5,), 2000)
    assert sum(found) == 2000
    assert any(start == round(0.5 * (2060 - count)) for start, count in zip(asked, [20, 30, 10], strict=True))
    assert spaces([], [], "middle", 500) == ([500], [])


@pytest.mark.parametrize("places", ["front", (), (0.5, 0.2, 0.1), (0.2, 0.3, 0.4, 0.5), (1.5,), (float("nan"),)])
def test_places_that_cannot_be_asked_for_are_refused(places: str | tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="places must be"):
        checked(places, 3)
