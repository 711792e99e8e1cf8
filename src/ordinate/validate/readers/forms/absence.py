"""Journeys made, not made, and hoped for."""

from ordinate.validate.readers.forms.base import Form, Page
from ordinate.validate.readers.sentences import pattern


class Absence(Form):
    """Whether a sentence says that the journey was made."""

    name = "absence"
    questions = (pattern("Do the notes say that {who} travelled to {town}?"),)
    sentences = (
        pattern("{who} later travelled to {town}."),
        pattern("{who} never travelled to {town}."),
        pattern("{who} hoped to travel to {town}."),
        pattern("{who} planned to travel to {town}."),
        pattern("{who} refused to travel to {town}."),
    )
    options = ("no", "yes")

    def solve(self, page: Page) -> str:
        return "yes" if any(fact.form == 0 and fact.values == page.asked.values for fact in page.told) else "no"

    def candidates(self, page: Page) -> list[tuple[int, str]]:
        return [(fact.start, "yes" if fact.form == 0 else "no") for fact in page.told]
