"""Whether something is told at all, when it is also told as hoped for or denied."""

from typing import Any, ClassVar

from ordinate.errors import InputError
from ordinate.validate.tasks.base import Difficulty, Draft, Draw, Task, Version, decoys, evidence

PLANS = ("hoped to travel", "planned to travel", "refused to travel")


class Absence(Task):
    """Whether the notes say that somebody travelled to a town.

    Minimal pairs: in one member it is said, and denied of another person or of another town, equally often; in the
    other it is denied, and said of these. In both members three more records say that the person hoped, planned and
    refused to travel to the town, so that four sentences name person and town whatever the answer is.
    """

    name = "absence"
    title = "Whether something is said, denied, or only hoped for"
    abilities = ("retrieve", "abstain")
    further = ("{name} {later travelled|never travelled|hoped to travel|planned to travel} to {name}.",)
    defaults: ClassVar[Difficulty] = {"others": 2}
    brief: ClassVar[Difficulty] = {"others": 1}
    short: ClassVar[Difficulty] = {"others": 0, "demonstrations": 0}
    members = 2

    def check(self, difficulty: Difficulty) -> None:
        if difficulty["others"] > 200:
            raise InputError(f"absence's others must be at most 200, got {difficulty['others']}")

    def chance(self, **difficulty: Any) -> float:
        """Yes or no drawn anew for each member; one answer to both is never right."""
        self.difficulty(difficulty)
        return 0.25

    def draft(self, draw: Draw, difficulty: Difficulty) -> Draft:
        others = difficulty["others"]
        who, town, who_else, town_else, *names = draw.names(4 + 2 * others)
        kind = draw.balanced("rival", 2)
        rival, rival_town = ((who_else, town), (who, town_else))[kind]
        verbs = [draw.pick(("later travelled", "never travelled", *PLANS)) for _ in range(others)]
        shared = [draw.integer(0, 3) for _ in range(others)]

        def version(present: bool, names: list[str]) -> Version:
            rest = [f"{who} {plan} to {town}." for plan in PLANS]
            for i, (verb, share) in enumerate(zip(verbs, shared, strict=True)):
                person, place = names[2 * i : 2 * i + 2]  # half of them share the person or the town with the question
                rest.append(f"{who if share == 0 else person} {verb} to {town if share == 1 else place}.")
            own, other = ("later", "never")[:: 1 if present else -1]  # words of one length, and one token each
            pair = [f"{who} {own} travelled to {town}.", f"{rival} {other} travelled to {rival_town}."]
            told = evidence(pair) + decoys(rest)
            return Version(tuple(told), ("yes" if present else "no",))

        present = draw.member == 1
        return Draft(
            version(present, names),
            f"Do the notes say that {who} travelled to {town}? Say yes or no.",
            swapped=version(not present, names),
            altered=version(not present, names[::-1]),
            choices=("no", "yes"),
            facts={"rival": ("another person", "another town")[kind]},
        )
