"""Where somebody was on a day, of several who move from town to town."""

from typing import Any, ClassVar

from ordinate.errors import InputError
from ordinate.validate.tasks.base import Difficulty, Draft, Draw, Task, Version, decoys, evidence

SINCE = 3
"""Of how many states of recency each is as often the one asked for: nobody has moved since, one other, two others."""


class StateAtTime(Task):
    """The state of one of several things that change, on a day.

    Moves are told in random order, and nobody is twice at a place. The question is always of one form, and the state
    that it asks for is the first of the person's, the last or one between, equally often: the name without the days,
    and the first or last state whatever is asked, are right in a third of the instances. Until the day that is asked
    for none, one or two others have moved since the person, equally often, so that the day without the name is right no
    more often. The person's next move, where there is one, is the day after, so that the nearest day is wrong; and
    the day is as often early or late among all days whatever the state is.
    """

    name = "state_at_time"
    title = "State on a day, among earlier and later states"
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
        """The first or last state whatever is asked, or the state of anybody on the day that is asked for."""
        return max(1 / 3, 1 / (self.difficulty(difficulty)["others"] + 1))

    def draft(self, draw: Draw, difficulty: Difficulty) -> Draft:
        updates, persons = difficulty["updates"], difficulty["others"] + 1
        *drawn, fresh = draw.names(persons * (updates + 1) + 1)
        who, towns = drawn[:persons], drawn[persons:]
        asked = draw.balanced("asked", 3)
        state = (0, draw.integer(1, updates - 2), updates - 1)[asked]
        since = draw.sample(range(1, persons), draw.balanced("since", min(persons, SINCE)))
        moves, move = _moves(draw, persons, updates, state, since)
        day, days = draw.integer(7, 20), []
        for _ in moves:
            day += draw.integer(3, 5)  # so that the day before a move is nearer to it than to the move before
            days.append(day)
        after = move + len(since) + 1
        on = days[after] - 1 if after < len(moves) else days[-1] + draw.integer(1, 4)
        other = draw.pick([i for i, person in enumerate(moves) if person != 0])
        told = draw.shuffled(range(len(moves)))

        def version(towns: list[str]) -> Version:
            records = []
            for i in told:
                make = evidence if i == move else decoys
                records += make([f"On day {days[i]} {who[moves[i]]} moved to {towns[i]}."], f"move {i}")
            return Version(tuple(records), (towns[move],))

        exchanged, renamed = towns.copy(), towns.copy()
        exchanged[move], exchanged[other] = towns[other], towns[move]
        renamed[move] = fresh
        return Draft(
            version(towns),
            f"In which town was {who[0]} on day {on}?",
            swapped=version(exchanged),
            altered=version(renamed),
            choices=tuple(sorted(towns[i] for i, person in enumerate(moves) if person == 0)),
            facts={"asked": ("first", "between", "last")[asked], "since": len(since)},
        )


def _moves(draw: Draw, persons: int, updates: int, state: int, since: list[int]) -> tuple[list[int], int]:
    """Who moves, in the order of time, and which move leads to the state: person 0's, with others' directly behind.

    Person 0's next move, where there is one, comes directly behind those. How many moves there are before is drawn
    without regard to the state, so that a day that is early or late among all days is no earlier or later state.
    """
    rest = draw.shuffled([person for person in range(1, persons) for _ in range(updates - (person in since))])
    move = draw.integer(updates - 1, len(rest))
    before = draw.shuffled([0] * state + rest[: move - state])
    left = updates - 1 - state
    after = draw.shuffled([0] * max(0, left - 1) + rest[move - state :])
    return [*before, 0, *since, *[0] * min(1, left), *after], move
