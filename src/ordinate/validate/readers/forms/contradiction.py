"""Notes about who owns how many of what."""

from itertools import combinations

from ordinate.validate.readers.forms.base import Form, Page
from ordinate.validate.readers.sentences import Fact, pattern

WORDS = {"one": 1, "two": 2, "six": 6, "twelve": 12, "twenty": 20, "thirty": 30, "eighty": 80}


class Contradiction(Form):
    """The two notes that give one person two numbers of one thing."""

    name = "contradiction"
    questions = (pattern("Do two of the notes contradict each other?"),)
    sentences = (
        pattern("Note {id:number} says: {who} owns {count:number} {thing}."),
        pattern("Note {id:number} says: {who} owns {count} {thing}."),
        pattern("Note {id:number} says: {who} owns {count} dozen {thing}."),
    )
    options = ("no",)

    def solve(self, page: Page) -> str:
        for one, other in combinations(page.told, 2):
            if (one["who"], one["thing"]) == (other["who"], other["thing"]) and _number(one) != _number(other):
                return f"{one['id']}, {other['id']}"
        return "no"

    def candidates(self, page: Page) -> list[tuple[int, str]]:
        """Two notes each about one person, and no."""
        pairs = [
            (other.start, f"{one['id']}, {other['id']}")
            for one, other in combinations(page.told, 2)
            if one["who"] == other["who"]
        ]
        return [*sorted(pairs), (len(page.told), "no")]


def _number(fact: Fact) -> int:
    count = fact["count"]
    return int(count) if fact.form == 0 else WORDS[count] * (12 if fact.form == 2 else 1)
