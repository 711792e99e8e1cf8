"""Whether something is told at all, when it is also told as hoped for or denied."""

from typing import Any, ClassVar

from ordinate.errors import InputError
from ordinate.validate.tasks.base import Difficulty, Draft, Draw, Task, Version, decoys, evidence

PLANS = ("hoped to travel", "planned to travel", "refused to travel")
SAID = ("later travelled", "never travelled")


class Absence(Task):
    """Whether the notes say that somebody travelled to a town.

    Minimal pairs: in one member it is said, and denied of another person or of another town, equally often; in the
    other it is denied, and said of these. In both members three more records say that the person hoped, planned and
    refused to travel to the town, so that four sentences name person and town whatever the answer is.

    companions: in how many more records the person travelled or did not, to other towns, and other persons to the town

    What is said of the companions is drawn so that neither the sentences about the person alone, nor those about the
    town alone, nor any sentence by itself tell the answer: only the one that names both.
    """

    name = "absence"
    title = "Whether something is said, denied, or only hoped for"
    abilities = ("retrieve", "abstain")
    further = (
        "{name} {later travelled|never travelled|hoped to travel|planned to travel|refused to travel} to {name}.",
    )
    defaults: ClassVar[Difficulty] = {"others": 0, "companions": 3}
    brief: ClassVar[Difficulty] = {"others": 0, "companions": 1}
    short: ClassVar[Difficulty] = {"others": 0, "demonstrations": 0}
    members = 2

    def check(self, difficulty: Difficulty) -> None:
        if difficulty["others"] > 200:
            raise InputError(f"absence's others must be at most 200, got {difficulty['others']}")
        if difficulty["companions"] % 2 == 0 or difficulty["companions"] > 99:
            raise InputError(f"absence's companions must be odd and at most 99, got {difficulty['companions']}")

    def chance(self, **difficulty: Any) -> float:
        """Counting what is said of the person and of the town, without a look at which sentence names both."""
        return 0.5 if self.difficulty(difficulty)["companions"] == 1 else 1 / 3

    def draft(self, draw: Draw, difficulty: Difficulty) -> Draft:
        others, companions = difficulty["others"], difficulty["companions"]
        who, town, *names = draw.names(2 + 2 * companions + 2 * others)
        kind = draw.balanced("rival", 2)  # whether the rival is another person, or in another town
        verbs = [draw.pick((*SAID, *PLANS)) for _ in range(others)]
        even = draw.shuffled([*SAID] * (companions // 2))
        # Of one kind there is one more, or in a third of the units three: no count tells the sentence asked for apart.
        more, ahead = draw.integer(0, 1), 3 if companions > 1 and draw.integer(0, 2) == 0 else 1
        uneven = [SAID[more]] * ((companions + ahead) // 2) + [SAID[1 - more]] * ((companions - ahead) // 2)

        def version(present: bool, names: list[str]) -> Version:
            towns, persons = names[:companions], names[companions : 2 * companions]
            own, other = SAID[:: 1 if present else -1]  # words of one length, and one token each
            of_who, of_town = ((uneven, [other, *even]), ([other, *even], uneven))[kind]
            rest = [f"{who} {plan} to {town}." for plan in PLANS]
            for i in range(others):
                person, place = names[2 * (companions + i) : 2 * (companions + i + 1)]
                rest.append(f"{person} {verbs[i]} to {place}.")
            beside = [f"{person} {verb} to {town}." for person, verb in zip(persons, of_town, strict=True)]
            elsewhere = [f"{who} {verb} to {place}." for place, verb in zip(towns, of_who, strict=True)]
            (rival, *near), far = (beside, elsewhere)[:: 1 if kind == 0 else -1]
            told = evidence([f"{who} {own} to {town}.", rival]) + decoys(near + far + rest)
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
