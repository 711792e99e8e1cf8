"""Keys and their numbers."""

from ordinate.validate.readers.forms.base import Form, Page
from ordinate.validate.readers.sentences import pattern


class PassKey(Form):
    """The number of the key of that name."""

    name = "passkey"
    questions = (pattern("What is the {thing} key?"),)
    sentences = (pattern("The {thing} key is {value:number}."),)

    def solve(self, page: Page) -> str:
        return next((fact["value"] for fact in page.told if fact["thing"] == page.asked["thing"]), "")

    def candidates(self, page: Page) -> list[tuple[int, str]]:
        return [(fact.start, fact["value"]) for fact in page.told]
