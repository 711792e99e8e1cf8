"""Who wrote which words."""

from ordinate.validate.readers.forms.base import Form, Page
from ordinate.validate.readers.sentences import pattern

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


class OrdinalRecall(Form):
    """The n-th line of a writer, in page.told order."""

    name = "ordinal_recall"
    questions = (pattern("Which words did {who} write the {which} time?"),)
    sentences = (pattern("{who} wrote the words {line:words}."),)

    def solve(self, page: Page) -> str:
        own = [fact["line"] for fact in page.told if fact["who"] == page.asked["who"]]
        place = ORDINALS.index(page.asked["which"])
        return own[place] if place < len(own) else ""

    def candidates(self, page: Page) -> list[tuple[int, str]]:
        return [(fact.start, fact["line"]) for fact in page.told]
