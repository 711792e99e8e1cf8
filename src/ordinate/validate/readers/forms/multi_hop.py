"""Who reports to whom."""

from ordinate.validate.readers.forms.base import Form, Page
from ordinate.validate.readers.sentences import pattern


class MultiHop(Form):
    """The end of the chain that begins with the one asked for."""

    name = "multi_hop"
    questions = (pattern("{start} reports to somebody, who may report to another, and so on."),)
    sentences = (pattern("{one} reports to {other}."),)

    def solve(self, page: Page) -> str:
        onward = {fact["one"]: fact["other"] for fact in page.told}
        if page.asked["start"] not in onward:
            return ""
        return follow(onward, page.asked["start"])[-1]

    def candidates(self, page: Page) -> list[tuple[int, str]]:
        """The names that report to nobody."""
        followed = {fact["one"] for fact in page.told}
        return [(fact.start, fact["other"]) for fact in page.told if fact["other"] not in followed]


def follow(onward: dict[str, str], start: str) -> list[str]:
    """The chain from there on, its beginning included; it ends where a name comes again."""
    chain = [start]
    while chain[-1] in onward and onward[chain[-1]] not in chain:
        chain.append(onward[chain[-1]])
    return chain
