"""What an answer could be told by, without reading what the task is about: rules that were found by a search."""

import re
from collections import Counter, defaultdict

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


def test_the_counts_of_days_alone_order_no_more_events_than_chance_says():
    seen = defaultdict(Counter)
    for instance in instances("event_order", 1200)[::2]:
        a, b = re.findall(r"the (\w+) feast", instance.question)
        counts = dict(re.findall(r"The (\w+) feast was held (\d+) days after", " ".join(told(instance))))
        seen[int(counts[a]) - int(counts[b])][instance.answer] += 1
    assert len(seen) == 58  # -29 to 29, without 0
    best = sum(max(answers.values()) for answers in seen.values()) / 1200
    # the best rule for each difference, fitted to what it is tested on; fitting adds half a standard deviation to each
    fitted = sum(0.4 * total.total() ** 0.5 for total in seen.values()) / 1200
    assert best <= made("event_order").chance() + fitted + 0.03
    assert {len(answers) for difference, answers in seen.items() if 1 < abs(difference) < 29} == {2}


def test_the_dates_alone_order_no_more_events_than_chance_says():
    seen = defaultdict(Counter)
    for instance in instances("event_order", 1200)[::2]:
        a, b = re.findall(r"the (\w+) feast", instance.question)
        text = " ".join(told(instance))
        days = dict(re.findall(r"The (\w+) feast was held on day (\d+)", text))
        other = dict(re.findall(r"The (\w+) feast was held \d+ days after the (\w+) feast", text))
        seen[int(days[other[a]]) - int(days[other[b]])][instance.answer] += 1
    best = sum(max(answers.values()) for answers in seen.values()) / 1200
    fitted = sum(0.4 * total.total() ** 0.5 for total in seen.values()) / 1200
    assert best <= made("event_order").chance() + fitted + 0.03


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


def test_as_many_notes_have_all_words_of_the_statement_whatever_the_answer_is():
    lengths = defaultdict(set)
    for instance in instances("citation"):
        words_of = asked(r"say that (\w+) has sold the (\w+) at (\w+)\?", instance.question).groups()
        naming = [text for text in told(instance) if all(re.search(rf"\b{word}\b", text) for word in words_of)]
        assert len(naming) == 4
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
