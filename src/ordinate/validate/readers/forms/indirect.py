"""Other names, and who has settled where."""

from ordinate.validate.readers.forms.base import Form, Page
from ordinate.validate.readers.sentences import pattern


class Indirect(Form):
    """Where the person lives whom the other name belongs to."""

    name = "indirect"
    questions = (pattern("In which town does the one called {alias} live now?"),)
    sentences = (pattern("{alias} is a byname of {person}."), pattern("{person} has settled at {place}."))

    def solve(self, page: Page) -> str:
        persons = {fact["alias"]: fact["person"] for fact in page.told if fact.form == 0}
        places = {fact["person"]: fact["place"] for fact in page.told if fact.form == 1}
        return places.get(persons.get(page.asked["alias"], ""), "")

    def candidates(self, page: Page) -> list[tuple[int, str]]:
        return [(fact.start, fact["place"]) for fact in page.told if fact.form == 1]
