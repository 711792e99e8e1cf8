"""Notes about who sold what where."""

from ordinate.validate.readers.forms.base import Form, Page
from ordinate.validate.readers.sentences import pattern

SAID = 4
"""How many of the sentences say that it was sold; the others deny it."""


class Citation(Form):
    """The notes that say it, in any words."""

    name = "citation"
    questions = (pattern("Which notes say that {who} has sold the {thing} at {town}?"),)
    sentences = (
        pattern("Note {id:number} says: {who} later sold the {thing} at {town}."),
        pattern("Note {id:number} says: At {town} the {thing} was later sold by {who}."),
        pattern("Note {id:number} says: The {thing} was later sold by {who} at {town}."),
        pattern("Note {id:number} says: {who} at {town} later sold the {thing}."),
        pattern("Note {id:number} says: {who} never sold the {thing} at {town}."),
        pattern("Note {id:number} says: At {town} the {thing} was never sold by {who}."),
        pattern("Note {id:number} says: The {thing} was never sold by {who} at {town}."),
        pattern("Note {id:number} says: {who} at {town} never sold the {thing}."),
    )

    def solve(self, page: Page) -> str:
        said = [fact for fact in page.told if fact.form < SAID]
        return ", ".join(fact["id"] for fact in said if {**fact.values, **page.asked.values} == fact.values)

    def candidates(self, page: Page) -> list[tuple[int, str]]:
        return [(fact.start, fact["id"]) for fact in page.told]
