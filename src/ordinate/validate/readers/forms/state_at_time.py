"""Days and moves."""

from ordinate.validate.readers.forms.base import Form, Page
from ordinate.validate.readers.sentences import pattern


class StateAtTime(Form):
    """Where somebody was first, last, or on a day."""

    name = "state_at_time"
    questions = (pattern("In which town was {who} on day {day:number}?"),)
    sentences = (pattern("On day {day:number} {who} moved to {town}."),)

    def solve(self, page: Page) -> str:
        own = [(int(fact["day"]), fact["town"]) for fact in page.told if fact["who"] == page.asked["who"]]
        return max((move for move in own if move[0] <= int(page.asked["day"])), default=(0, ""))[1]

    def candidates(self, page: Page) -> list[tuple[int, str]]:
        return [(fact.start, fact["town"]) for fact in page.told]
