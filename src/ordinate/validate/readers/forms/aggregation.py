"""Sales."""

from ordinate.validate.readers.forms.base import Form, Page
from ordinate.validate.readers.sentences import pattern


class Aggregation(Form):
    """What follows from all sales of one seller."""

    name = "aggregation"
    questions = (
        pattern("How many times did {seller} sell lamps?"),
        pattern("How many lamps did {seller} sell in all?"),
        pattern("Who bought the most lamps at once from {seller}?"),
        pattern("To how many different buyers did {seller} sell lamps?"),
    )
    sentences = (pattern("{seller} sold {amount:number} lamps to {buyer}."),)

    def solve(self, page: Page) -> str:
        own = [fact for fact in page.told if fact["seller"] == page.asked["seller"]]
        if page.asked.form == 2 and not own:
            return ""
        amounts = [int(fact["amount"]) for fact in own]
        if page.asked.form == 2:
            return own[amounts.index(max(amounts))]["buyer"]
        return str((len(own), sum(amounts), 0, len({fact["buyer"] for fact in own}))[page.asked.form])

    def candidates(self, page: Page) -> list[tuple[int, str]]:
        return [(fact.start, fact["buyer" if page.asked.form == 2 else "amount"]) for fact in page.told]
