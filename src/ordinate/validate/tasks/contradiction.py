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
    these notes gives the same number, and a note about another person and the same thing has the number that it had.
    Everything else is the same: notes about one person and thing that agree, and notes that give one person different
    numbers of different things, which is no contradiction. All are about the same two things and the same two numbers,
    each in as many notes, so that person, thing and number must be compared together. Two notes about one person and
    thing never have the number in one kind of words ("12", "twelve", "one dozen"), so that comparing the wording tells
    nothing. The answer "no", or any answer made without the second note, is right in one member at most.

    agreeing: of how many other persons two notes agree
    compatible: of how many more persons two notes have different numbers of different things
    """

    name = "contradiction"
    title = "Contradiction: whether there is one, and between which notes"
    abilities = ("retrieve", "compare", "cite", "abstain")
    further = (
        "Note {number:3} says: {name} owns {12|20|24|30|72|80|twelve|twenty|thirty|eighty|one dozen|six dozen} "
        "{boats|carts|lamps|horses|barrels|ladders|sheep|mirrors|anchors|drums}.",
    )
    defaults: ClassVar[Difficulty] = {"agreeing": 1, "compatible": 1}
    brief: ClassVar[Difficulty] = {"agreeing": 0, "compatible": 0}
    short: ClassVar[Difficulty] = {"demonstrations": 0}
    members = 2
    form = "set"

    def check(self, difficulty: Difficulty) -> None:
        if difficulty["agreeing"] > 20 or difficulty["compatible"] > 20:
            raise InputError(f"contradiction takes at most 20 decoy pairs of each kind, got {dict(difficulty)}")

    def chance(self, **difficulty: Any) -> float:
        """Saying yes in half of the instances, and then naming one of the pairs about one thing, or that differ."""
        level = self.difficulty(difficulty)
        return 1 / (4 * (min(level["agreeing"], level["compatible"]) + 1))

    def draft(self, draw: Draw, difficulty: Difficulty) -> Draft:
        agreeing, compatible = difficulty["agreeing"], difficulty["compatible"]
        first, second, *persons = draw.names(2 + agreeing + compatible)
        *ids, one, two = draw.numbers(2 * (len(persons) + 2) + 2, 3)
        thing, other_thing = draw.sample(THINGS, 2)
        kind = draw.pick(tuple(WORDINGS))
        number, another = draw.sample(tuple(WORDINGS[kind]), 2)
        equal, unequal = WORDINGS[kind][number], WORDINGS[kind][another]
        kept = draw.pick([wording for wording in _wordings(number) if wording != equal])
        rest = [f"{second} owns {draw.pick(_wordings(number))} {other_thing}."]
        for i, person in enumerate(persons):
            if i < agreeing:  # as the first person's notes are in the other member, with number and thing exchanged
                about, told = ((other_thing, another), (thing, number))[i % 2]
                rest += [f"{person} owns {wording} {about}." for wording in draw.sample(_wordings(told), 2)]
            else:
                numbers = draw.shuffled((number, another))
                for about, told in zip((thing, other_thing), numbers, strict=True):
                    rest.append(f"{person} owns {draw.pick(_wordings(told))} {about}.")

        def version(differ: bool, ids: list[str]) -> Version:
            own = [f"{first} owns {wording} {thing}." for wording in (kept, unequal if differ else equal)]
            own.append(f"{second} owns {equal if differ else unequal} {thing}.")
            told = [f"Note {id} says: {text}" for id, text in zip(ids, own + rest, strict=True)]
            records: list[Record] = evidence(told[:3]) + decoys(told[3:])
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
