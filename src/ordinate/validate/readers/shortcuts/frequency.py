"""What stands in a text how often."""

from collections import Counter
from collections.abc import Callable

from ordinate.validate.readers.base import PageReader
from ordinate.validate.readers.forms.base import Page
from ordinate.validate.readers.shortcuts.extremes import Extreme
from ordinate.validate.readers.shortcuts.slots import Candidate


def _said(page: Page) -> Counter[str]:
    """How often each candidate is said, in whatever part of a sentence; of lists, how often all their parts are."""
    said = Counter(value for fact in page.told for value in fact.values.values())
    return Counter({answer: sum(said[part] for part in answer.split(", ")) for _, answer in page.candidates()})


class MostFrequent(Extreme):
    """What the text says most often, the first of them."""

    name = "most_frequent"

    def weigh(self, page: Page) -> Callable[[Candidate], int]:
        said = _said(page)
        return lambda candidate: said[candidate[1]]


class Rarest(Extreme):
    """What the text says least often, the first of them."""

    name = "rarest"

    def weigh(self, page: Page) -> Callable[[Candidate], int]:
        said = _said(page)
        return lambda candidate: -said[candidate[1]]


class DumpAll(PageReader):
    """All that has the form of an answer, once each: right wherever a score asks whether the answer is among it."""

    name = "dump_all"

    def choose(self, page: Page) -> str:
        parts = [part for _, answer in page.candidates() for part in answer.split(", ")]
        return ", ".join(dict.fromkeys([*parts, *page.form.options]))
