"""What stands in a place, whatever it is."""

import hashlib
from abc import abstractmethod

from ordinate.errors import non_negative_integer
from ordinate.validate.readers.base import PageReader
from ordinate.validate.readers.forms.base import Page

Candidate = tuple[int, str]
"""Where it stands, and what."""


class Chooser(PageReader):
    """Chooses one of what has the form of an answer."""

    def choose(self, page: Page) -> str:
        if page.candidates():
            return self.pick(page)[1]
        return page.form.options[-1] if page.form.options else ""

    @abstractmethod
    def pick(self, page: Page) -> Candidate:
        """One of the page's candidates, of which there are some."""


class First(Chooser):
    """The first in the text; on questions of order: what is told first was first."""

    name = "first"

    def pick(self, page: Page) -> Candidate:
        return page.candidates()[0]


class NearestToTheQuestion(Chooser):
    """The last in the text."""

    name = "nearest_to_the_question"

    def pick(self, page: Page) -> Candidate:
        return page.candidates()[-1]


class FixedSlot(Chooser):
    """The one in a fixed place from the first.

    Args:
        slot: which, from 0
    """

    name = "fixed_slot"

    def __init__(self, slot: int) -> None:
        super().__init__()
        self.slot = non_negative_integer("slot", slot)

    def pick(self, page: Page) -> Candidate:
        candidates = page.candidates()
        return candidates[self.slot % len(candidates)]


class AnyCandidate(Chooser):
    """One of them by lot, which the text itself decides."""

    name = "any_candidate"

    def pick(self, page: Page) -> Candidate:
        candidates = page.candidates()
        key = "|".join([answer for _, answer in candidates] + sorted(page.asked.values.values()))
        lot = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little")
        return candidates[lot % len(candidates)]
