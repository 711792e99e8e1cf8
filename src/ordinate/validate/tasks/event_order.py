"""Which of two feasts was held first, when the telling does not follow time."""

from typing import Any, ClassVar

from ordinate.errors import InputError
from ordinate.validate.tasks.base import Difficulty, Draft, Draw, Task, Version, decoys, evidence

LEAST, MOST = 11, 40
"""Days from one event to another: two digits each, so that no sentence is longer than the next."""

LEVELS = MOST - LEAST
"""How far the counts, and the days that they count from, may lie apart."""


class EventOrder(Task):
    """Whether one event came before another.

    form "relative": each of the two is told as so many days after another event, whose day is told elsewhere. The two
    lie one day apart. By how much the other events differ, and by how much the counts of days do, are neighbours of 1
    to 29, and the larger of these decides; so neither tells the order by itself, but where it is the least or the most
    that there is: that is the chance of 29 in 56. Both must be added. Decoys have the same difference of counts, and
    one of them the other of its two neighbours between their days, so that numbers without the names that link them
    tell nothing either.
    form "dates": both days are told, each in its record.

    The told order is drawn without regard to the answer. Minimal pairs: "A before B" and "B before A" of the same
    records; a reader of any fixed rule that orders events without reading is right in half of the pairs, one that
    always says the same in none.
    """

    name = "event_order"
    title = "Order of events whose telling does not follow time"
    abilities = ("retrieve", "combine", "order")
    further = (
        "The {name} feast was held on day {number:2}.",
        "The {name} feast was held {number:2} days after the {name} feast.",
    )
    defaults: ClassVar[Difficulty] = {"others": 1, "form": "relative"}
    brief: ClassVar[Difficulty] = {"others": 0}
    short: ClassVar[Difficulty] = {"demonstrations": 0}
    members = 2

    def check(self, difficulty: Difficulty) -> None:
        if difficulty["form"] not in ("relative", "dates"):
            raise InputError(f"event_order's form must be relative or dates, got {difficulty['form']!r}")
        least = 1 if difficulty["form"] == "relative" else 0
        if not least <= difficulty["others"] <= 10:
            raise InputError(f"event_order's others must be {least} to 10, got {difficulty['others']}")

    def chance(self, **difficulty: Any) -> float:
        """A fixed rule that orders the two by one of the two differences; without reading where days are told."""
        ends = 1 / (LEVELS - 1) if self.difficulty(difficulty)["form"] == "relative" else 0.0
        return 0.5 + ends / 2

    def draft(self, draw: Draw, difficulty: Difficulty) -> Draft:
        relative, others = difficulty["form"] == "relative", difficulty["others"]
        pairs = others + 1
        names = [draw.names(4 if relative else 2) for _ in range(pairs)]
        first = draw.balanced("first", 2)  # which of the two events is earlier
        against = draw.balanced("against", 2) == 1  # whether the dates told point the other way
        apart = draw.integer(1, LEVELS - 1) + (1 if against else 0)
        # the first decoy is of the other kind, any more are of either, so that one kind is no likelier to be asked for
        kinds = [against, *(not against if i == 0 else draw.integer(0, 1) == 1 for i in range(others))]
        settings = [
            _Setting(draw, relative, first if i == 0 else draw.integer(0, 1), apart, kind)
            for i, kind in enumerate(kinds)
        ]
        moved = _Setting(draw, relative, first, apart, against)
        told_order = [[draw.integer(0, 1) for _ in range(2)] for _ in range(pairs)]

        def version(settings: list["_Setting"], answer: str) -> Version:
            records = []
            for i, (words, setting) in enumerate(zip(names, settings, strict=True)):
                make = evidence if i == 0 else decoys
                told = setting.told(words)
                for j, texts in enumerate(told):
                    records += make(texts[:: -1 if told_order[i][j] else 1], f"setting {i} part {j}")
            return Version(tuple(records), (answer,))

        earlier, later = names[0][:2] if first == 0 else names[0][1::-1]
        (a, b), right, wrong = ((later, earlier), "no", "yes") if draw.member == 0 else ((earlier, later), "yes", "no")
        return Draft(
            version(settings, right),
            f"Was the {a} feast held before the {b} feast? Say yes or no.",
            swapped=version([settings[0].exchanged(), *settings[1:]], wrong),
            altered=version([moved.exchanged(), *settings[1:]], wrong),
            choices=("no", "yes"),
            facts={"against": against},
        )


class _Setting:
    """The days of two events, and how they are told."""

    def __init__(self, draw: Draw, relative: bool, first: int, apart: int, against: bool) -> None:
        self.relative = relative
        day = draw.integer(11, 98 - LEVELS)
        if not relative:
            days = [day, day + draw.integer(1, 9)]
            self.days = days if first == 0 else days[::-1]
            self.after = [0, 0]
            return
        # against: the anchors lie the other way round than the events, and the days after outweigh them
        gap = apart - 1 if against else apart + 1
        least = draw.integer(LEAST, MOST - apart)
        days, after = [day, day + gap], [least + apart, least]
        if against:
            days, after = days[::-1], after[::-1]
        self.days = days if first == 0 else days[::-1]
        self.after = after if first == 0 else after[::-1]

    def exchanged(self) -> "_Setting":
        """The same with the days of the two events exchanged."""
        other = object.__new__(_Setting)
        other.relative, other.days, other.after = self.relative, self.days[::-1], self.after[::-1]
        return other

    def told(self, names: list[str]) -> list[list[str]]:
        """The records: dates, and where events are told by others, those."""
        dated = names[2:] if self.relative else names
        parts = [[f"The {name} feast was held on day {day}." for name, day in zip(dated, self.days, strict=True)]]
        if self.relative:
            parts.append(
                [
                    f"The {name} feast was held {days} days after the {anchor} feast."
                    for name, days, anchor in zip(names, self.after, names[2:], strict=False)
                ]
            )
        return parts
