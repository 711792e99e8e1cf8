"""The sentence with the largest or smallest number, whoever it is about."""

from collections import defaultdict

from ordinate.validate.readers.forms.base import Page
from ordinate.validate.readers.shortcuts.slots import Candidate, Chooser


def _numbers(page: Page) -> dict[int, int]:
    """The last number of each sentence, by where it stands; 0 where it has none."""
    numbers: dict[int, int] = defaultdict(int)
    for fact in page.told:
        numbers[fact.start] = next((int(v) for v in reversed(list(fact.values.values())) if v.isdecimal()), 0)
    return numbers


class LargestNumber(Chooser):
    """What the sentence says that has the largest number."""

    name = "largest_number"

    def pick(self, page: Page) -> Candidate:
        numbers = _numbers(page)
        return max(page.candidates(), key=lambda candidate: numbers[candidate[0]])


class SmallestNumber(Chooser):
    """What the sentence says that has the smallest number."""

    name = "smallest_number"

    def pick(self, page: Page) -> Candidate:
        numbers = _numbers(page)
        return min(page.candidates(), key=lambda candidate: numbers[candidate[0]])
