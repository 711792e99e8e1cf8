"""Where somebody was first, last, or on a day between."""

from typing import Any, ClassVar

from ordinate.errors import InputError
from ordinate.validate.tasks.base import Difficulty, Draft, Draw, Task, Version, decoys, evidence


class StateAtTime(Task):
    """The state of one of several things that change, at a time.

    Records are told in the order of time. First, last, and on a day between two moves are asked equally often, so that
    a reader who keeps the last state only, or the first, is right in a third of the instances. The moves of the others
    stand between, and nobody is twice at a place. The day that is asked for is the last one before the person's next
    move, or just before: whoever moved last until then is no likelier the one who is asked for than any other.
    """

    name = "state_at_time"
    title = "State after updates: first, between, last"
    abilities = ("retrieve", "update", "order")
    further = ("On day {number:2} {name} moved to {name}.",)
    defaults: ClassVar[Difficulty] = {"updates": 4, "others": 2}
    brief: ClassVar[Difficulty] = {"updates": 3, "others": 1}
    short: ClassVar[Difficulty] = {"updates": 3, "others": 1, "demonstrations": 0}

    def check(self, difficulty: Difficulty) -> None:
        if not 3 <= difficulty["updates"] <= 20 or not 1 <= difficulty["others"] <= 20:
            raise InputError(
                "state_at_time needs 3 to 20 updates and 1 to 20 others, got "
                f"{difficulty['updates']} and {difficulty['others']}"
            )

    def chance(self, **difficulty: Any) -> float:
        """The first or last state whatever is asked, or the state of anybody at the time that is asked for."""
        return max(1 / 3, 1 / (self.difficulty(difficulty)["others"] + 1))

    def draft(self, draw: Draw, difficulty: Difficulty) -> Draft:
        updates, persons = difficulty["updates"], difficulty["others"] + 1
        *drawn, fresh = draw.names(persons * (updates + 1) + 1)
        who, towns = drawn[:persons], drawn[persons:]
        moves = draw.shuffled([person for person in range(persons) for _ in range(updates)])
        day, days = 0, []
        for _ in moves:
            day += draw.integer(2, 4)  # a day is always left between two moves
            days.append(day)
        own = [i for i, person in enumerate(moves) if person == 0]
        asked = draw.balanced("asked", 3)
        move = own[0] if asked == 0 else own[-1] if asked == 2 else own[draw.integer(1, updates - 2)]
        name = who[0]
        if asked == 1:
            after = own[own.index(move) + 1]
            question = f"In which town was {name} on day {draw.integer(days[after - 1] + 1, days[after] - 1)}?"
        else:
            question = f"In which town was {name} {'first' if asked == 0 else 'last'} of all?"
        other = draw.pick([i for i in range(len(moves)) if i not in own])

        def version(towns: list[str]) -> Version:
            records = []
            for i, (person, day) in enumerate(zip(moves, days, strict=True)):
                make = evidence if i == move else decoys
                records += make([f"On day {day} {who[person]} moved to {towns[i]}."], f"move {i}")
            return Version(tuple(records), (towns[move],))

        exchanged, renamed = towns.copy(), towns.copy()
        exchanged[move], exchanged[other] = towns[other], towns[move]
        renamed[move] = fresh
        return Draft(
            version(towns),
            question,
            swapped=version(exchanged),
            altered=version(renamed),
            choices=tuple(sorted(towns[i] for i in own)),
            ordered=True,
            facts={"asked": ("first", "between", "last")[asked]},
        )
