"""Which of two events was the first, and which of two others, when the telling does not follow time."""

from typing import Any, ClassVar, NamedTuple

from ordinate.errors import InputError
from ordinate.validate.instances import Record
from ordinate.validate.tasks.base import Difficulty, Draft, Draw, Task, Version, decoys, evidence

LEAST, MOST = 11, 40
"""Days from one event to another: two digits each, so that no sentence is longer than the next."""

LEVELS = MOST - LEAST
"""How far the counts, and the days that they count from, may lie apart."""


class EventOrder(Task):
    """Which of two events came first, and which of two others.

    form "relative": each event is told as so many days after another event, whose day is told elsewhere. The two of a
    pair lie one day apart. By how much the other events differ, and by how much the counts of days do, are neighbours
    of 1 to 29, and the larger of these decides; so neither tells the order by itself, but where it is the least or the
    most that there is: that is the chance of 29 in 56 for each pair. Both must be added. Which of the two is larger is
    drawn for each pair by itself, so that no rule for one of them says anything of the other.
    form "dates": all days are told, each in its record; those of a pair lie 1 to 3 days apart.

    The order in the question and the told order are drawn without regard to the answer. The answer is both names, in
    any order; one right name is no part of a right answer.

    others: decoy pairs for each pair that is asked for. They have its difference of counts, and one of them the other
    of its two neighbours between their days, so that dates without the names that link them tell nothing either
    """

    name = "event_order"
    title = "Order of events whose telling does not follow time"
    abilities = ("retrieve", "combine", "order")
    further = (
        "{name} began on day {number:2}.",
        "{name} began {number:2} days after {name}.",
    )
    defaults: ClassVar[Difficulty] = {"others": 1, "form": "relative"}
    brief: ClassVar[Difficulty] = {"others": 0}
    short: ClassVar[Difficulty] = {"demonstrations": 0}
    form = "set"

    def check(self, difficulty: Difficulty) -> None:
        if difficulty["form"] not in ("relative", "dates"):
            raise InputError(f"event_order's form must be relative or dates, got {difficulty['form']!r}")
        least = 1 if difficulty["form"] == "relative" else 0
        if not least <= difficulty["others"] <= 10:
            raise InputError(f"event_order's others must be {least} to 10, got {difficulty['others']}")

    def chance(self, **difficulty: Any) -> float:
        """Fixed rules that order each pair by one of the two differences; without reading where days are told."""
        ends = 1 / (LEVELS - 1) if self.difficulty(difficulty)["form"] == "relative" else 0.0
        return (0.5 + ends / 2) ** 2

    def draft(self, draw: Draw, difficulty: Difficulty) -> Draft:
        relative, others = difficulty["form"] == "relative", difficulty["others"]
        first = divmod(draw.balanced("first", 4), 2)  # which of each pair is earlier
        against = [kind == 1 for kind in divmod(draw.balanced("against", 4), 2)]  # whether dates point the other way
        asked, moved, rest = [], [], []
        for earlier, kind in zip(first, against, strict=True):
            apart = draw.integer(1, LEVELS - 1) + kind
            asked.append(_drawn(draw, relative, earlier, apart, kind))
            moved.append(_drawn(draw, relative, 1 - earlier, apart, kind))
            # the first decoy is of the other kind, any more are of either, so that one kind is no likelier to be asked
            kinds = [not kind if i == 0 else draw.integer(0, 1) == 1 for i in range(others)]
            rest += [_drawn(draw, relative, draw.integer(0, 1), apart, decoy) for decoy in kinds]
        names = [draw.names(4 if relative else 2) for _ in (*asked, *rest)]

        def version(pairs: list[_Pair], first: tuple[int, ...]) -> Version:
            records: list[Record] = []
            for i, (words, pair) in enumerate(zip(names, [*pairs, *rest], strict=True)):
                records += (evidence if i < len(pairs) else decoys)(pair.told(words), f"pair {i} record")
            return Version(tuple(records), tuple(words[i] for words, i in zip(names, first, strict=False)))

        (a, b), (c, d) = (words[:2] for words in names[:2])
        last = tuple(1 - earlier for earlier in first)
        return Draft(
            version(asked, first),
            f"Which of the events {a} and {b} began first, and which of {c} and {d}? Name both.",
            swapped=version([pair.exchanged() for pair in asked], last),
            altered=version(moved, last),
            facts={"against": tuple(against)},
        )


class _Pair(NamedTuple):
    """When two events are.

    Args:
        days: of the two, or of the events from which they are counted, [day]
        after: the counts of days; empty where none is counted, [day]
    """

    days: list[int]
    after: list[int]

    def exchanged(self) -> "_Pair":
        """The same with each of the two at the other's place."""
        return _Pair(self.days[::-1], self.after[::-1])

    def told(self, names: list[str]) -> list[str]:
        """The records: dates, and where events are told by others, those."""
        dated = names[2:] or names
        told = [f"{name} began on day {day}." for name, day in zip(dated, self.days, strict=True)]
        for name, days, other in zip(names, self.after, dated, strict=False):
            told.append(f"{name} began {days} days after {other}.")
        return told


def _drawn(draw: Draw, relative: bool, first: int, apart: int, against: bool) -> _Pair:
    """A pair whose event `first` is the earlier, with counts so far `apart`."""
    if not relative:
        day = draw.integer(11, 96)
        pair = _Pair([day, day + draw.integer(1, 3)], [])
    else:
        # against: the others lie the other way round than the events, and the counts of days outweigh them
        gap = apart - 1 if against else apart + 1
        day, least = draw.integer(11, 98 - LEVELS), draw.integer(LEAST, MOST - apart)
        pair = _Pair([day, day + gap], [least + apart, least])
        if against:
            pair = pair.exchanged()
    return pair if first == 0 else pair.exchanged()
