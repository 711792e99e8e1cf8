"""What an answer could be told by, without reading what the task is about: rules that were found by a search."""

import re
from collections import Counter, defaultdict
from functools import cache
from itertools import combinations

import pytest
from validate_prompts import made

UNITS = 240


def instances(name, units=UNITS, **difficulty):
    one = made(name)
    return [one.instance(31337, index, demonstrations=0, **difficulty) for index in range(units * one.members)]


def asked(pattern, text):
    found = re.search(pattern, text)
    assert found
    return found


def told(instance):
    return [record.text for record in instance.records]


@cache
def asked_pairs(form):
    """Of each unit, for both pairs: what is told of each of the two, and which of them is the right one, 0 or 1.

    What is told: the count of days, and the day that it is counted from (or the day itself). All days of the text stand
    beside them.
    """
    units = []
    for instance in instances("event_order", 4000, form=form):
        text = " ".join(told(instance))
        days = {name: int(day) for name, day in re.findall(r"(\w+) began on day (\d+)\.", text)}
        after = {a: (int(n), b) for a, n, b in re.findall(r"(\w+) began (\d+) days after (\w+)\.", text)}
        pattern = r"events (\w+) and (\w+) began first, and which of (\w+) and (\w+)\?"
        named = asked(pattern, instance.question).groups()
        pairs = []
        for pair in (named[:2], named[2:]):
            counted = [after.get(name, (0, name)) for name in pair]
            facts = [(count, days[day]) for count, day in counted]
            ((right,),) = [[i for i in range(2) if pair[i] in instance.answer]]
            pairs.append((*facts, right))
        units.append((tuple(pairs), tuple(days.values())))
    return units


def counts(one, other):
    return one[0] - other[0]


def dates(one, other):
    return one[1] - other[1]


def decided_by_counts(pair):
    one, other, _ = pair
    return abs(counts(one, other)) > abs(dates(one, other))


def numbers(one, other, days):
    """Both counts are read, and all dates are, but not which event is counted from which date."""
    apart = abs(counts(one, other))
    differences = Counter(abs(x - y) for x, y in combinations(days, 2))
    assert differences[apart - 1]
    assert differences[apart + 1]
    return one[0] > other[0], differences[apart + 1] - differences[apart - 1]


PARTS = {
    "nothing": lambda _, __, ___: 0,
    "one date": lambda one, _, __: one[1],
    "one count": lambda one, _, __: one[0],
    "both counts": lambda one, other, _: counts(one, other),
    "both dates": lambda one, other, _: dates(one, other),
    "numbers without names": numbers,
}


@pytest.mark.parametrize(
    "form, part", [*(("relative", part) for part in PARTS), *(("dates", part) for part in list(PARTS)[:2])]
)
def test_a_part_of_what_is_told_orders_no_more_events_than_chance_says(form, part):
    """Whatever a part tells, the best answer to it is learnt from half of the units and tried on the other half."""
    units = [[(PARTS[part](*two, days), right) for *two, right in pairs] for pairs, days in asked_pairs(form)]
    found = 0
    for half in (0, 1):
        seen = defaultdict(Counter)
        for key, right in (pair for pairs in units[half::2] for pair in pairs):
            seen[key][right] += 1
        known = {key: rights.most_common(1)[0][0] for key, rights in seen.items()}
        found += sum(all(known.get(key, 0) == right for key, right in pairs) for pairs in units[1 - half :: 2])
    assert found / len(units) <= made("event_order").chance(form=form) + 0.03


def test_counts_and_dates_tell_the_order_where_they_are_added():
    for pairs, _ in asked_pairs("relative"):
        for one, other, right in pairs:
            assert counts(one, other) + dates(one, other) == (-1, 1)[right]
            assert abs(counts(one, other)) - abs(dates(one, other)) in (-1, 1)


def test_neither_pair_of_events_tells_anything_of_the_other():
    """In every block of four units each two right events come once, and each two of what decides."""
    pairs = [pairs for pairs, _ in asked_pairs("relative")]
    rights = [tuple(right for *_, right in unit) for unit in pairs]
    decided = [tuple(map(decided_by_counts, unit)) for unit in pairs]
    for start in range(0, len(pairs), 4):
        assert len(set(rights[start : start + 4])) == len(set(decided[start : start + 4])) == 4
    both = Counter(zip(rights, decided, strict=True))
    assert len(both) == 16
    assert all(190 < count < 310 for count in both.values())  # 250 of each, within four standard errors


def test_neither_person_nor_town_alone_tells_what_is_said_of_both():
    """In one member the balance of what is said of one of the two is as in the other member of other units."""
    units, kinds, uneven = instances("absence", 300), Counter(), Counter()
    for pair in zip(units[::2], units[1::2], strict=True):
        balances = []
        for instance in pair:
            who, town = asked(r"say that (\w+) travelled to (\w+)\?", instance.question).groups()
            said = re.findall(r"(\w+) (later|never) travelled to (\w+)\.", " ".join(told(instance)))
            assert len(said) == 7
            signs = [(a, 1 if verb == "later" else -1, b) for a, verb, b in said]
            balances.append(
                (
                    sum(sign for a, sign, _ in signs if a == who),
                    sum(sign for _, sign, b in signs if b == town),
                    sum(sign for a, sign, b in signs if a == who or b == town),
                    sum(sign for _, sign, _ in signs),
                )
            )
        (one, other) = balances
        assert one[2:] == other[2:]  # whatever names either, and all there is: the same in both members
        side = 0 if one[0] != other[0] else 1
        assert one[1 - side] == other[1 - side] == 0
        assert abs(one[side] - other[side]) == 2
        kinds[side] += 1
        uneven[abs(one[side] + other[side]) // 2] += 1
    assert kinds == {0: 150, 1: 150}
    assert set(uneven) == {1, 3}
    assert 70 < uneven[3] < 130  # a third: so that the largest balances are right no more often than the smaller ones


@pytest.mark.parametrize("key", ["who", "town"])
def test_what_is_said_of_one_name_is_right_no_more_often_than_chance_says(key):
    best, units = 0.0, instances("absence", 400)
    for largest in (False, True):
        right = 0
        for pair in zip(units[::2], units[1::2], strict=True):
            found = []
            for instance in pair:
                names = asked(r"say that (?P<who>\w+) travelled to (?P<town>\w+)\?", instance.question).groupdict()
                said = [
                    match["verb"] == "later"
                    for text in told(instance)
                    if (match := re.match(r"(?P<who>\w+) (?P<verb>later|never) travelled to (?P<town>\w+)\.", text))
                    and match[key] == names[key]
                ]
                later = said.count(True)
                # by lot where there are as many of both, and by the larger part, or by all or nothing alone
                yes = said[instance.seed % len(said)] if later == 2 else (later > 2) != (largest and later in (1, 3))
                found.append(yes == (instance.answer == ("yes",)))
            right += all(found)
        best = max(best, right / 400)
    assert best < made("absence").chance() + 0.07


def test_person_and_town_stand_together_equally_often_whatever_the_answer_is():
    for instance in instances("absence", others=0):
        who, town = asked(r"say that (\w+) travelled to (\w+)\?", instance.question).groups()
        assert sum(text.startswith(f"{who} ") and text.endswith(f" {town}.") for text in told(instance)) == 4


def test_the_wording_of_two_notes_about_one_thing_is_never_of_one_kind():
    def kind(number):
        return "digits" if number.isdigit() else "dozens" if "dozen" in number else "words"

    pairs = 0
    for instance in instances("contradiction"):
        about = defaultdict(list)
        for text in told(instance):
            who, number, thing = asked(r"says: (\w+) owns (.+) (\w+)\.", text).groups()
            about[who, thing].append(kind(number))
        for kinds in about.values():
            assert len(set(kinds)) == len(kinds)
            pairs += len(kinds) == 2
    assert pairs == 2 * 2 * UNITS  # the pair asked for and the one that agrees, in both members


def test_person_thing_and_number_tell_of_a_contradiction_only_together():
    for pair in zip(instances("contradiction")[::2], instances("contradiction")[1::2], strict=True):
        things, persons, bags = [], [], []
        for instance in pair:
            notes = [asked(r"says: (\w+) owns (.+) (\w+)\.", text).groups() for text in told(instance)]
            value = {"twelve": 12, "twenty": 20, "thirty": 30, "eighty": 80}
            value |= {"one dozen": 12, "two dozen": 24, "six dozen": 72}
            numbers = [(who, value.get(number) or int(number), thing) for who, number, thing in notes]
            bags.append(Counter(number for _, number, _ in notes))
            things.append(Counter((thing, number) for _, number, thing in notes))
            persons.append(sum(len({n for a, n, _ in numbers if a == who}) == 2 for who in {w for w, *_ in notes}))
            assert len({thing for *_, thing in notes}) == len({number for _, number, _ in numbers}) == 2
        assert bags[0] == bags[1]
        assert things[0] == things[1]
        assert persons == [2, 2]


def test_as_many_notes_have_all_words_of_the_statement_whatever_the_answer_is():
    lengths = defaultdict(set)
    for instance in instances("citation"):
        words_of = asked(r"say that (\w+) has sold the (\w+) at (\w+)\?", instance.question).groups()
        naming = [text for text in told(instance) if all(re.search(rf"\b{word}\b", text) for word in words_of)]
        assert len(naming) == 4
        assert len({re.sub(r"\d+|later|never", "", text) for text in naming}) == 4  # each wording once
        assert sum("never" in text for text in told(instance)) == 4
        for text in naming:
            form = re.sub("later|never", "", text)
            lengths[len(text) - len(form)].add("never" in text)
    assert lengths == {5: {True, False}}  # denying is as long as saying


def test_no_place_beside_the_one_asked_for_is_in_the_answer():
    directions = Counter()
    for instance in instances("graph_walk"):
        onward = "away from" in instance.question
        place = asked(r"(?:away from|places is) (\w+)", instance.question)[1]
        roads = re.findall(r"A road leads from (\w+) to (\w+)\.", " ".join(told(instance)))
        beside = {b for a, b in roads if a == place} if onward else {a for a, b in roads if b == place}
        assert len(beside) == 2
        assert not beside & set(instance.answer)
        directions["onward" if onward else "back"] += 1
    assert set(directions.values()) == {UNITS // 2}


@pytest.mark.parametrize("difficulty", [{}, {"updates": 3, "others": 1}, {"updates": 5, "others": 4}])
def test_neither_the_name_nor_the_day_alone_tells_a_state(difficulty):
    """Rules that leave out the name, the day, or which of two days is the earlier; each is right as often as chance."""
    right, units = Counter(), 1200
    for instance in instances("state_at_time", units, **difficulty):
        who, on = re.findall(r"was (\w+) on day (\d+)\?", instance.question)[0]
        day = int(on)
        moves = re.findall(r"On day (\d+) (\w+) moved to (\w+)\.", " ".join(told(instance)))
        moves = [(int(number), name, town) for number, name, town in moves]
        own = [move for move in moves if move[1] == who]
        states, days = sorted(own), sorted(move[0] for move in moves)
        until = [move for move in sorted(moves, reverse=True) if move[0] <= day]
        people = list(dict.fromkeys(name for _, name, _ in until))
        share = (day - days[0]) / (days[-1] - days[0])
        rules = {
            "told first": own[0],
            "told last": own[-1],
            "the first state": states[0],
            "the last state": states[-1],
            "a state between": states[1],
            "the nearest day": min(own, key=lambda move: abs(move[0] - day)),
            "the next state": next((move for move in states if move[0] > day), states[-1]),
            "early or late among all days": states[0 if share < 0.5 else -1],
            "as far as the day among all days": states[min(len(own) - 1, max(0, int(share * len(own))))],
            "as far as the day in the text": own[min(len(own) - 1, max(0, int(share * len(own))))],
            **{f"whoever moved, {i} before": move for i, move in enumerate(until[:3])},
            **{
                f"whoever else moved, {i} before": next(move for move in until if move[1] == name)
                for i, name in enumerate(people[:3])
            },
        }
        right.update(name for name, move in rules.items() if move[2] == instance.answer[0])
    assert right["the first state"] == right["the last state"] == right["the nearest day"] == units // 3
    chance = made("state_at_time").chance(**difficulty)
    # three standard errors of what is not balanced inside every block
    assert max(right.values()) <= units * (chance + 3 * (chance * (1 - chance) / units) ** 0.5)
    assert {right["whoever moved, 0 before"], right["whoever moved, 1 before"]} == {round(units * chance)}


def test_the_place_of_a_line_tells_its_number_no_more_often_than_chance_says():
    for difficulty in ({}, {"writers": 2}):
        places = defaultdict(Counter)
        for instance in instances("ordinal_recall", 1200, **difficulty):
            place = next(i for i, text in enumerate(told(instance)) if instance.answer[0] in text)
            places[instance.facts["asked"]][place] += 1
        best = sum(counts.most_common(1)[0][1] for counts in places.values()) / 1200
        assert abs(best - made("ordinal_recall").chance(**difficulty)) < 0.04


def test_any_seller_could_be_the_one_asked_for():
    by_kind = Counter()
    for instance in instances("aggregation"):
        sales = [asked(r"(\w+) sold (\d+) lamps to (\w+)", text).groups() for text in told(instance)]
        kind, mine = instance.facts["kind"], Counter(seller for seller, *_ in sales)
        sellers = [seller for seller in mine if kind != "distinct" or mine[seller] == 4]
        own = {seller: [(int(n), buyer) for who, n, buyer in sales if who == seller] for seller in sellers}
        answers = {
            "count": lambda sold: len(sold),
            "sum": lambda sold: sum(n for n, _ in sold),
            "argmax": lambda sold: max(sold)[1],
            "distinct": lambda sold: len({buyer for _, buyer in sold}),
        }
        assert len({answers[kind](sold) for sold in own.values()}) == len(own) == 4
        mentioned = [[sale for sale in sales if seller in sale] for seller in own]
        if kind in ("count", "distinct"):
            assert len({len(found) for found in mentioned}) == 1
            assert len({len({name for a, _, b in found for name in (a, b)}) for found in mentioned}) == 1 or (
                kind == "count"
            )
        by_kind[kind] += 1
    assert set(by_kind.values()) == {UNITS // 4}
