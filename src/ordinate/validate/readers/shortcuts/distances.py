"""What stands near something, or far from everything: where evidence would give itself away by its place."""

from collections.abc import Callable, Sequence

from ordinate.validate.readers.forms.base import Page
from ordinate.validate.readers.shortcuts.slots import Candidate, Chooser


def _mentions(page: Page) -> list[int]:
    """Where the sentences stand that share a name or number with the question."""
    wanted = set(page.asked.values.values())
    return [fact.start for fact in page.told if wanted & set(fact.values.values())]


def _by_mentions(page: Page, choose: Callable[..., Candidate]) -> Candidate:
    places, candidates = _mentions(page), page.candidates()
    others = [candidate for candidate in candidates if candidate[0] not in places] or candidates
    return choose(others, key=lambda other: min((abs(other[0] - place) for place in places), default=0))


def _room(page: Page, candidate: Candidate) -> int:
    """From a candidate's sentence to the nearest other one, [character]."""
    others: Sequence[int] = [abs(fact.start - candidate[0]) for fact in page.told if fact.start != candidate[0]]
    return min(others, default=0)


class Adjacent(Chooser):
    """The candidate nearest to a sentence that mentions what is asked for, in another sentence."""

    name = "adjacent"

    def pick(self, page: Page) -> Candidate:
        return _by_mentions(page, min)


class Remote(Chooser):
    """The candidate farthest from all sentences that mention what is asked for."""

    name = "remote"

    def pick(self, page: Page) -> Candidate:
        return _by_mentions(page, max)


class Crowded(Chooser):
    """The candidate that has another sentence of the form nearest to it."""

    name = "crowded"

    def pick(self, page: Page) -> Candidate:
        return min(page.candidates(), key=lambda candidate: _room(page, candidate))


class Alone(Chooser):
    """The candidate that all other sentences of the form are farthest from."""

    name = "alone"

    def pick(self, page: Page) -> Candidate:
        return max(page.candidates(), key=lambda candidate: _room(page, candidate))


class Middle(Chooser):
    """The candidate nearest to the middle between the first sentence of the form and the question."""

    name = "middle"

    def pick(self, page: Page) -> Candidate:
        middle = (page.told[0].start + page.asked.start) / 2
        return min(page.candidates(), key=lambda candidate: abs(candidate[0] - middle))
