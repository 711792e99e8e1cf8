"""What single tasks promise beyond the laws of all."""

import re
from typing import Any

import pytest
from validate_prompts import made
from validate_samples import TOKENIZERS, tokenizer

from ordinate.errors import InputError
from ordinate.validate.tasks.passkey import OTHERS

PAIRS = r"events (\w+) and (\w+) began first, and which of (\w+) and (\w+)\?"


def edits(one: str, other: str) -> int:
    """Levenshtein's distance, by its recurrence."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (a != b))
    return row[-1]


def test_near_keys_are_one_or_two_edits_apart_and_none_is_their_middle() -> None:
    central = 0
    for index in range(60):
        instance = made("near_key").instance(0, index)
        keys = [re.findall(r"\d+", record.text)[0] for record in instance.records]
        distances = [[edits(a, b) for b in keys] for a in keys]
        assert {d for i, row in enumerate(distances) for j, d in enumerate(row) if i != j} <= {1, 2}
        central += all(sum(distances[0]) < sum(row) for row in distances[1:])
    assert central < 20


@pytest.mark.parametrize("tokens", TOKENIZERS)
def test_the_pass_key_is_told_in_a_sentence_as_long_as_any_other(tokens: str) -> None:
    written = tokenizer(tokens)
    lengths = {len(written.encode(f"The {thing} key is lost")) for thing in ("pass", *OTHERS)}
    assert len(lengths) == len({len(thing) for thing in OTHERS}) == 1


def test_an_indirect_question_shares_no_content_word_with_the_record_that_answers_it() -> None:
    small = {"is", "a", "of", "has", "at", "in", "which", "does", "the", "one", "now"}
    for index in range(20):
        instance = made("indirect").instance(0, index)
        alias, fact = (set(re.findall(r"\w+", record.text.lower())) - small for record in instance.evidence)
        asked = set(re.findall(r"\w+", instance.question.lower())) - small
        assert not asked & fact
        assert len(asked & alias) == 1


@pytest.mark.parametrize("order", ["random", "forward", "backward"])
@pytest.mark.parametrize("hops", [1, 2, 3, 4])
def test_chains_are_all_of_one_length_and_told_in_their_order(hops: int, order: str) -> None:
    for index in range(5):
        instance = made("multi_hop").instance(0, index, hops=hops, chains=3, order=order, loose=2)
        links = [re.findall(r"[A-Z]\w+", record.text) for record in instance.records]
        onward = dict(links)
        starts = [start for start in onward if start not in onward.values()]
        lengths = []
        for start in starts:
            chain = [start]
            while chain[-1] in onward:
                chain.append(onward[chain[-1]])
            lengths.append(len(chain) - 1)
        assert sorted(lengths) == sorted([hops] * 3 + ([2] if hops == 1 else [1, 1]))
        assert instance.ordered == (order != "random")
        own = [record.text for record in instance.evidence]
        assert len(own) == hops
        if order != "random":
            told = [re.findall(r"[A-Z]\w+", text)[0] for text in own]
            chain = list(instance.facts["chain"][:-1])
            assert told == (chain if order == "forward" else chain[::-1])
        assert len(instance.choices) == 3


def test_distractors_grow_without_moving_the_chain() -> None:
    few, many = (made("multi_hop").instance(0, 3, loose=loose) for loose in (0, 6))
    assert len(many.records) == len(few.records) + 6
    assert len(many.evidence) == len(few.evidence)
    with pytest.raises(InputError, match="would be a chain"):
        made("multi_hop").instance(0, 3, hops=1, loose=1)


def test_two_names_order_two_pairs_of_events_in_whatever_order_they_are_given() -> None:
    source = made("event_order")
    for index in range(8):
        instance = source.instance(0, index)
        (named,) = re.findall(PAIRS, instance.question)
        right = [name for name in named if name in instance.answer]
        (one, two), (other, another) = right, [name for name in named if name not in right]
        assert {one, other} == set(named[:2])
        for said in (f"{one}, {two}", f"{two} and {one}", f"{one}; {two}."):
            assert source.score(said, instance, continues=True).right
        for said in (one, f"{one}, {another}", f"{other}, {two}", f"{one}, {other}", f"{one}, {two}, {other}"):
            assert not source.score(said, instance, continues=True).right
        assert set(instance.controls["evidence_swapped"].answer) == {other, another}
        assert set(instance.controls["altered_answers"].answer) == {other, another}
        assert len({len(record.text) for record in instance.records if "after" in record.text}) == 1


def test_the_chance_of_ordering_two_pairs_is_that_of_the_best_rule_for_one_difference_of_each() -> None:
    """By enumeration of all that a pair may be: two neighbours of 1 to 29, either the counts' or the dates'."""
    for side in (0, 1):
        pairs = [pair for least in range(1, 29) for pair in ((least, least + 1), (least + 1, least))]
        seen: dict[int, list[bool]] = {}
        for pair in pairs:
            seen.setdefault(pair[side], []).append(pair[0] > pair[1])
        best = sum(max(larger.count(True), larger.count(False)) for larger in seen.values())
        assert (best, len(pairs)) == (29, 56)
    assert made("event_order").chance() == pytest.approx(841 / 3136)
    assert made("event_order").chance(others=3) == made("event_order").chance()
    assert made("event_order").chance(form="dates") == 0.25


def test_neither_dates_nor_counts_of_days_alone_tell_the_order() -> None:
    """In every block of four units each pair's dates point to the answer in two and against it in two; so do counts."""
    by_dates, by_counts, units = 0, 0, 200
    for unit in range(units):
        instance = made("event_order").instance(0, unit)
        text = " ".join(record.text for record in instance.evidence)
        days = {a: int(day) for a, day in re.findall(r"(\w+) began on day (\d+)", text)}
        links = {a: (int(n), b) for a, n, b in re.findall(r"(\w+) began (\d+) days after (\w+)", text)}
        (named,) = re.findall(PAIRS, instance.question)
        dates, counts = [], []
        for one, other in (named[:2], named[2:]):
            first = one in instance.answer
            dates.append((days[links[one][1]] < days[links[other][1]]) == first)
            counts.append((links[one][0] < links[other][0]) == first)
            apart = days[links[one][1]] + links[one][0] - days[links[other][1]] - links[other][0]
            assert apart == (-1 if first else 1)
        by_dates += all(dates)
        by_counts += all(counts)
        assert instance.facts["against"] == tuple(not date for date in dates)
    assert by_dates == by_counts == units // 4


@pytest.mark.parametrize(
    ("given", "match"),
    [({"others": 0}, "others must be 1 to 10"), ({"others": 11}, "1 to 10"), ({"form": "days"}, "relative or dates")],
)
def test_pairs_of_events_without_decoys_are_refused_where_numbers_would_order_them(
    given: dict[str, Any], match: str
) -> None:
    with pytest.raises(InputError, match=match):
        made("event_order").instance(0, 0, **given)
    assert len(made("event_order").instance(0, 0, form="dates", others=0).records) == 4


def test_a_move_is_told_without_regard_to_its_day() -> None:
    ranks = []
    for index in range(120):
        instance = made("state_at_time").instance(0, index, updates=5)
        who, on = re.findall(r"^In which town was (\w+) on day (\d+)\?$", instance.question)[0]
        moves = [re.findall(r"^On day (\d+) (\w+) moved to (\w+)\.$", record.text)[0] for record in instance.records]
        own = [(int(day), town) for day, name, town in moves if name == who]
        assert {town for _, town in own} == set(instance.choices)
        assert (max(move for move in own if move[0] <= int(on))[1],) == instance.answer
        ranks.append([town for _, town in own].index(instance.answer[0]))
    assert not instance.ordered
    assert max(ranks.count(rank) for rank in range(5)) < 40  # a fifth is expected: told first or last, it is any state


def test_what_agrees_in_other_words_is_no_contradiction() -> None:
    """Without the pair in other words, comparing the wording would find every contradiction; with it, none alone."""
    for unit in range(30):
        for index in (2 * unit, 2 * unit + 1):
            instance = made("contradiction").instance(0, index, agreeing=2)
            owned: dict[tuple[str, str], list[str]] = {}
            for record in instance.records:
                who, count, thing = re.findall(r"says: (\w+) owns (.+) (\w+)\.", record.text)[0]
                owned.setdefault((who, thing), []).append(count)
            worded = [counts for counts in owned.values() if len(counts) == 2 and counts[0] != counts[1]]
            assert len(worded) >= 2


def test_a_citation_has_traps_with_every_word_of_the_statement() -> None:
    for index in range(12):
        instance = made("citation").instance(0, index)
        who, thing, town = re.findall(r"that (\w+) has sold the (\w+) at (\w+)\?", instance.question)[0]
        full = [r.role for r in instance.records if all(word in r.text for word in (who, thing, town))]
        assert full.count("decoy") == 4 - instance.facts["support"]
        assert full.count("evidence") == instance.facts["support"] == len(instance.answer)
        near = [r for r in instance.records if sum(word in r.text for word in (who, thing, town)) == 2]
        assert len(near) == len(instance.records) - len(full)


def test_sums_counts_and_ranks_are_spread_evenly() -> None:
    source = made("aggregation")
    assert sorted(int(source.instance(0, i, kind="sum").answer[0]) for i in range(16)) == list(range(9, 25))
    assert sorted(int(source.instance(0, i, kind="count").answer[0]) for i in range(4)) == [1, 2, 3, 4]
    assert sorted(int(source.instance(0, i, kind="distinct").answer[0]) for i in range(4)) == [1, 2, 3, 4]
    ranks = []
    for index in range(120):
        instance = source.instance(0, index, kind="argmax")
        amounts = sorted((int(re.findall(r"\d+", r.text)[0]) for r in instance.records), reverse=True)
        best = max(int(re.findall(r"\d+", r.text)[0]) for r in instance.evidence)
        ranks.append(amounts.index(best))
    assert ranks.count(0) < 45  # a quarter is expected: the best sale of all is any seller's
    assert max(ranks.count(rank) for rank in range(1, 6)) < 40
