"""Boxes and what they hold."""

from ordinate.validate.readers.forms.base import Form, Page
from ordinate.validate.readers.sentences import pattern


class NearKey(Form):
    """What the box with exactly that number holds."""

    name = "near_key"
    questions = (pattern("What does box {key:number} hold?"),)
    sentences = (pattern("Box {key:number} holds the {value}."),)

    def solve(self, page: Page) -> str:
        return next((fact["value"] for fact in page.told if fact["key"] == page.asked["key"]), "")

    def candidates(self, page: Page) -> list[tuple[int, str]]:
        return [(fact.start, fact["value"]) for fact in page.told]
