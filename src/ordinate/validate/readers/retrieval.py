"""The reader that finds one sentence and reads no other."""

from ordinate.validate.readers.base import PageReader
from ordinate.validate.readers.forms.base import Page


class RetrievalOnly(PageReader):
    """Answers from the one sentence that has the most words in common with the question, the first of them.

    It passes every test that hides a needle, and can combine nothing.
    """

    name = "retrieval_only"
    solves = frozenset({"passkey", "near_key"})

    def choose(self, page: Page) -> str:
        wanted = set(page.asked.values.values())
        best = max(page.told, key=lambda fact: len(wanted.intersection(fact.values.values())), default=None)
        if best is None:
            return ""
        return next((answer for start, answer in page.only(best).candidates() if start == best.start), "")
