"""Which notes say a thing, among notes that nearly say it."""

from typing import Any, ClassVar

from ordinate.errors import InputError
from ordinate.validate.tasks.base import Difficulty, Draft, Draw, Task, Version, decoys, evidence

THINGS = ("lamp", "cart", "ladder", "mirror", "anchor", "drum", "barrel", "kettle")
SAYING = (
    "{who} later sold the {thing} at {town}.",
    "At {town} the {thing} was later sold by {who}.",
    "The {thing} was later sold by {who} at {town}.",
    "{who} at {town} later sold the {thing}.",
)
NOT_SAYING = tuple(text.replace("later", "never") for text in SAYING)
"""Words of one length, so that no note's length tells what it says."""

NAMING = len(SAYING)
"""How many notes have all words of the statement: one in each wording, so that no wording tells what is said."""

LEAST = 6
"""How many notes it takes that denials are equally many whatever the answer is."""


class Citation(Task):
    """The exact set of notes that support a statement.

    Four notes have all its words, each in another order. One to three of them support it, equally often, and the
    others deny it; the notes besides differ from it in one of the person, the thing and the town. Some of these are
    denials, too, so that the numbers of notes and of denials are always the same.
    """

    name = "citation"
    title = "Citation: the notes that support a statement"
    abilities = ("retrieve", "compare", "cite")
    further = tuple(
        "Note {number:3} says: " + text.format(who="{name}", thing="{" + "|".join(THINGS) + "}", town="{name}")
        for text in SAYING + NOT_SAYING
    )
    defaults: ClassVar[Difficulty] = {"notes": 8}
    brief: ClassVar[Difficulty] = {"notes": 4}
    short: ClassVar[Difficulty] = {"notes": 6, "demonstrations": 0}
    form = "set"

    def check(self, difficulty: Difficulty) -> None:
        if not LEAST <= difficulty["notes"] <= 200:
            raise InputError(f"citation needs {LEAST} to 200 notes, got {difficulty['notes']}")

    def chance(self, **difficulty: Any) -> float:
        """One of the four notes that have all words of the statement, where one supports it."""
        self.difficulty(difficulty)
        return 1 / (3 * NAMING)

    def draft(self, draw: Draw, difficulty: Difficulty) -> Draft:
        notes = difficulty["notes"]
        support = 1 + draw.balanced("support", NAMING - 1)
        near = notes - NAMING
        who, town, *names = draw.names(2 + near)
        things = draw.shuffled(THINGS)
        ids = draw.numbers(notes + support, 3)
        ids, fresh = ids[:notes], ids[notes:]
        fact = {"who": who, "thing": things[0], "town": town}
        wordings = draw.shuffled(range(NAMING))
        texts = [(SAYING if i < support else NOT_SAYING)[form].format(**fact) for i, form in enumerate(wordings)]
        denied = draw.sample(range(near), max(0, notes // 2 - (NAMING - support)))
        start = draw.integer(0, 2)
        for i in range(near):
            slot = ("who", "town", "thing")[(start + i) % 3]
            other = draw.pick(things[1:]) if slot == "thing" else names[i]
            texts.append(draw.pick(NOT_SAYING if i in denied else SAYING).format(**{**fact, slot: other}))

        def version(ids: list[str]) -> Version:
            told = [f"Note {id} says: {text}" for id, text in zip(ids, texts, strict=True)]
            return Version(
                tuple(evidence(told[:support]) + decoys(told[support:])),
                tuple(sorted(ids[:support])),
            )

        turned = [ids[-1], *ids[1:-1], ids[0]]
        return Draft(
            version(ids),
            f"Which notes say that {who} has sold the {things[0]} at {town}? Give the numbers of all of them.",
            swapped=version(turned),
            altered=version([*fresh, *ids[support:]]),
            facts={"support": support},
        )
