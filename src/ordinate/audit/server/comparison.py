"""How far two answers to the same prompt are apart."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ordinate.audit.server.replies import Reply


@dataclass(frozen=True)
class Gap:
    """The difference of two answers to one prompt, token by token up to the first that differs.

    Args:
        values: how many log-probabilities were compared
        rms: the root of their mean squared difference, [nat]; None where the server gives none
        largest: the largest of the differences, [nat]
        differs: the first generated token that differs, from 0; None where the texts are the same
    """

    values: int
    rms: float | None
    largest: float | None
    differs: int | None

    @property
    def same(self) -> bool:
        """The same text, and log-probabilities that are equal to the last digit, where there are any."""
        return self.differs is None and not self.largest


def gap(one: Reply, other: Reply) -> Gap:
    """Compare two answers.

    rms = √(mean of (log p - log p')²) over the tokens that an answer names, of each step up to and with the first at
    which the generated tokens differ: behind it the contexts are not the same

    A token that only one answer names is at most as likely in the other as the last that this names: the difference
    counted is the least that it can be.

    Args:
        one, other: answers to one prompt
    """
    if not one.steps or not other.steps:
        return Gap(0, None, None, _first_difference(one.text, other.text))
    squares, largest, values, differs = 0.0, 0.0, 0, None
    for index, (mine, theirs) in enumerate(zip(one.steps, other.steps, strict=False)):
        for difference in _differences(mine.likely, theirs.likely):
            squares, values = squares + difference * difference, values + 1
            largest = max(largest, abs(difference))
        if mine.token != theirs.token:
            differs = index
            break
    return Gap(values, math.sqrt(squares / values) if values else None, largest if values else None, differs)


def _differences(mine: Mapping[str, float], theirs: Mapping[str, float]) -> Iterator[float]:
    for name in mine.keys() & theirs.keys():
        yield mine[name] - theirs[name]
    for one, other in ((mine, theirs), (theirs, mine)):
        if other:
            last = min(other.values())
            yield from (max(one[name] - last, 0.0) for name in one.keys() - other.keys())


def pooled(gaps: Iterable[Gap]) -> Gap:
    """Several gaps as one: their values together, and the earliest token that differs."""
    found = list(gaps)
    scored = [each for each in found if each.rms is not None]
    values = sum(each.values for each in scored)
    squares = sum(each.rms * each.rms * each.values for each in scored if each.rms is not None)
    differing = [each.differs for each in found if each.differs is not None]
    return Gap(
        values,
        math.sqrt(squares / values) if values else None,
        max((each.largest for each in scored if each.largest is not None), default=None),
        min(differing, default=None),
    )


def _first_difference(one: str, other: str) -> int | None:
    """The first word that differs, since without tokens there is nothing finer; None for equal texts."""
    if one == other:
        return None
    mine, theirs = one.split(), other.split()
    for index, (word, word_there) in enumerate(zip(mine, theirs, strict=False)):
        if word != word_there:
            return index
    return min(len(mine), len(theirs))
