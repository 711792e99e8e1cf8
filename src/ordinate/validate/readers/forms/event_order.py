"""Feasts and their days."""

from ordinate.validate.readers.forms.base import Form, Page
from ordinate.validate.readers.sentences import pattern


class EventOrder(Form):
    """Whether the first-named feast has the earlier day."""

    name = "event_order"
    questions = (pattern("Was the {a} feast held before the {b} feast?"),)
    sentences = (
        pattern("The {feast} feast was held on day {day:number}."),
        pattern("The {feast} feast was held {count:number} days after the {other} feast."),
    )
    options = ("no", "yes")

    def solve(self, page: Page) -> str:
        days = {fact["feast"]: int(fact["day"]) for fact in page.told if fact.form == 0}
        for fact in page.told:
            if fact.form > 0 and fact["other"] in days:
                days[fact["feast"]] = days[fact["other"]] + int(fact["count"])
        if page.asked["a"] not in days or page.asked["b"] not in days:
            return ""
        return "yes" if days[page.asked["a"]] < days[page.asked["b"]] else "no"

    def candidates(self, page: Page) -> list[tuple[int, str]]:
        """Yes where the first-named feast is told, no where the other is: the first of these takes telling for time."""
        spoken = {page.asked["a"]: "yes", page.asked["b"]: "no"}
        return [(fact.start, spoken[fact["feast"]]) for fact in page.told if fact["feast"] in spoken]
