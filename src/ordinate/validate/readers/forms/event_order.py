"""Events and their days."""

from itertools import product

from ordinate.validate.readers.forms.base import Form, Page
from ordinate.validate.readers.sentences import pattern

PAIRS = (("a", "b"), ("c", "d"))


class EventOrder(Form):
    """Of each of two pairs the event that has the earlier day."""

    name = "event_order"
    questions = (pattern("Which of the events {a} and {b} began first, and which of {c} and {d}?"),)
    sentences = (
        pattern("{event} began on day {day:number}."),
        pattern("{event} began {count:number} days after {other}."),
    )

    def solve(self, page: Page) -> str:
        days = {fact["event"]: int(fact["day"]) for fact in page.told if fact.form == 0}
        for fact in page.told:
            if fact.form > 0 and fact["other"] in days:
                days[fact["event"]] = days[fact["other"]] + int(fact["count"])
        pairs = [[page.asked[key] for key in pair] for pair in PAIRS]
        if not all(event in days for pair in pairs for event in pair):
            return ""
        return ", ".join(min(pair, key=days.__getitem__) for pair in pairs)

    def candidates(self, page: Page) -> list[tuple[int, str]]:
        """One event of each pair, where the later told of them stands: the first of these takes telling for time.

        Where no event of a pair is told, those of the other alone.
        """
        pairs = [[fact for fact in page.told if fact["event"] in {page.asked[k] for k in pair}] for pair in PAIRS]
        found = [sorted(chosen, key=lambda fact: -fact.start) for chosen in product(*filter(None, pairs)) if chosen]
        found.sort(key=lambda chosen: [fact.start for fact in chosen])
        order = [page.asked[key] for pair in PAIRS for key in pair]
        return [
            (chosen[0].start, ", ".join(sorted((fact["event"] for fact in chosen), key=order.index)))
            for chosen in found
        ]
