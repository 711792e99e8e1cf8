"""Roads that lead one way."""

from ordinate.validate.readers.forms.base import Form, Page
from ordinate.validate.readers.sentences import pattern

NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4}
BACKWARD = 2
"""How many of the questions ask against the roads."""


class GraphWalk(Form):
    """The places that are so many roads away, or from which another is."""

    name = "graph_walk"
    questions = (
        pattern("From which places is {place} exactly {steps} road away,"),
        pattern("From which places is {place} exactly {steps} roads away,"),
        pattern("Which places are exactly {steps} road away from {place},"),
        pattern("Which places are exactly {steps} roads away from {place},"),
    )
    sentences = (pattern("A road leads from {one} to {other}."),)

    def solve(self, page: Page) -> str:
        start, end = _ends(page)
        seen = edge = {page.asked["place"]}
        for _ in range(NUMBERS[page.asked["steps"]]):
            edge = {fact[end] for fact in page.told if fact[start] in edge} - seen
            seen = seen | edge
        return ", ".join(sorted(edge))

    def candidates(self, page: Page) -> list[tuple[int, str]]:
        """For each place, all that roads from it lead to, or lead to it from."""
        here, there = _ends(page)
        sets = {fact[here]: [other[there] for other in page.told if other[here] == fact[here]] for fact in page.told}
        return [(fact.start, ", ".join(sets[fact[here]])) for fact in page.told]


def _ends(page: Page) -> tuple[str, str]:
    """Where roads begin and end in the direction of the walk."""
    return ("other", "one") if page.asked.form < BACKWARD else ("one", "other")
