"""Whether two notes contradict each other, and which."""

from typing import Any, ClassVar

from ordinate.errors import InputError
from ordinate.validate.instances import Record
from ordinate.validate.tasks.base import Difficulty, Draft, Draw, Task, Version, decoys, evidence

WORDINGS = {
    "digits": {12: "12", 20: "20", 24: "24", 30: "30", 72: "72", 80: "80"},
    "words": {12: "twelve", 20: "twenty", 30: "thirty", 80: "eighty"},
    "dozens": {12: "one dozen", 24: "two dozen", 72: "six dozen"},
}
"""Numbers in three wordings; inside a wording all have one length, so that a pair differs in nothing else."""

THINGS = ("boats", "carts", "lamps", "horses", "barrels", "ladders", "sheep", "mirrors", "anchors", "drums")


class Contradiction(Task):
    """Which two notes contradict each other, if any do.

    Minimal pairs: in one member two notes give one person different numbers of one thing, in the other the second of
    these notes gives the same number. Everything else is the same: notes about one person and thing that agree, and
    notes that give one person different numbers of different things, which is no contradiction. Two notes about one
    person and thing never have the number in one kind of words ("12", "twelve", "one dozen"), so that comparing the
    wording tells nothing. The answer "no", or any answer made
    without the second note, is right in one member at most.
    """

    name = "contradiction"
    title = "Contradiction: whether there is one, and between which notes"
    abilities = ("retrieve", "compare", "cite", "abstain")
    further = (
        "Note {number:3} says: {name} owns {12|20|24|30|72|80|twelve|twenty|thirty|eighty|one dozen|six dozen} "
        "{boats|carts|lamps|horses|barrels|ladders|sheep|mirrors|anchors|drums}.",
    )
    defaults: ClassVar[Difficulty] = {"agreeing": 1, "compatible": 1}
    brief: ClassVar[Difficulty] = {"agreeing": 0, "compatible": 1}
    short: ClassVar[Difficulty] = {"demonstrations": 0}
    members = 2
    form = "set"

    def check(self, difficulty: Difficulty) -> None:
        if difficulty["agreeing"] > 20 or difficulty["compatible"] > 20:
            raise InputError(f"contradiction takes at most 20 decoy pairs of each kind, got {dict(difficulty)}")

    def chance(self, **difficulty: Any) -> float:
        """Saying yes in half of the instances, and then naming one of the pairs about one thing."""
        return 1 / (4 * (self.difficulty(difficulty)["agreeing"] + 1))

    def draft(self, draw: Draw, difficulty: Difficulty) -> Draft:
        agreeing, compatible = difficulty["agreeing"], difficulty["compatible"]
        persons = draw.names(1 + agreeing + compatible)
        notes = 2 * len(persons)
        *ids, one, two = draw.numbers(notes + 2, 3)
        others = []
        for i, person in enumerate(persons[1:]):
            thing, another_thing = draw.sample(THINGS, 2)
            number, another = draw.sample(tuple(WORDINGS["digits"]), 2)
            if i < agreeing:
                others += [f"{person} owns {wording} {thing}." for wording in draw.sample(_wordings(number), 2)]
            else:
                others.append(f"{person} owns {draw.pick(_wordings(number))} {thing}.")
                others.append(f"{person} owns {draw.pick(_wordings(another))} {another_thing}.")
        thing, kind = draw.pick(THINGS), draw.pick(tuple(WORDINGS))
        number, another = draw.sample(tuple(WORDINGS[kind]), 2)
        equal, unequal = WORDINGS[kind][number], WORDINGS[kind][another]
        kept = draw.pick([wording for wording in _wordings(number) if wording != equal])

        def version(differ: bool, ids: list[str]) -> Version:
            own = [f"{persons[0]} owns {wording} {thing}." for wording in (kept, unequal if differ else equal)]
            told = [f"Note {id} says: {text}" for id, text in zip(ids, own + others, strict=True)]
            records: list[Record] = evidence(told[:2]) + decoys(told[2:])
            return Version(tuple(records), tuple(sorted(ids[:2])) if differ else ("no",))

        differ = draw.member == 1
        return Draft(
            version(differ, ids),
            "Do two of the notes contradict each other? Say no, or give the numbers of the two notes.",
            swapped=version(not differ, ids),
            altered=version(True, [one, two, *ids[2:]]),
            facts={"contradiction": differ},
        )


def _wordings(number: int) -> tuple[str, ...]:
    return tuple(numbers[number] for numbers in WORDINGS.values() if number in numbers)
