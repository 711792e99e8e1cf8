"""The sentence with the largest or smallest number, whoever it is about."""

from collections import defaultdict
from collections.abc import Callable

from ordinate.validate.readers.forms.base import Page
from ordinate.validate.readers.shortcuts.extremes import Extreme
from ordinate.validate.readers.shortcuts.slots import Candidate


def _numbers(page: Page) -> dict[int, int]:
    """The last number of each sentence, by where it stands; 0 where it has none."""
    numbers: dict[int, int] = defaultdict(int)
    for fact in page.told:
        numbers[fact.start] = next((int(v) for v in reversed(list(fact.values.values())) if v.isdecimal()), 0)
    return numbers


class LargestNumber(Extreme):
    """What the sentence says that has the largest number."""

    name = "largest_number"

    def weigh(self, page: Page) -> Callable[[Candidate], int]:
        numbers = _numbers(page)
        return lambda candidate: numbers[candidate[0]]


class SmallestNumber(Extreme):
    """What the sentence says that has the smallest number."""

    name = "smallest_number"

    def weigh(self, page: Page) -> Callable[[Candidate], int]:
        numbers = _numbers(page)
        return lambda candidate: -numbers[candidate[0]]
