"""Sets of places in a network of one-way roads."""

from collections.abc import Sequence
from typing import Any, ClassVar

from ordinate.errors import InputError
from ordinate.validate.instances import Record
from ordinate.validate.tasks.base import Difficulty, Draft, Draw, Task, Version

NUMBERS = ("no", "one", "two", "three", "four")


class GraphWalk(Task):
    """Which places lie so many roads away from a place, or it from them.

    Two roads leave every place and two arrive, so that the place of the question has no mark but its name. Both kinds
    of question are asked equally often. The answer is the exact set.

    steps: the places whose shortest way from the one asked for, or to it, has so many roads
    """

    name = "graph_walk"
    title = "Sets of places in a network of one-way roads"
    abilities = ("retrieve", "link", "combine")
    further = ("A road leads from {name} to {name}.",)
    defaults: ClassVar[Difficulty] = {"places": 8, "steps": 2}
    brief: ClassVar[Difficulty] = {"places": 5, "steps": 1}
    short: ClassVar[Difficulty] = {"places": 7, "demonstrations": 0}
    form = "set"

    def check(self, difficulty: Difficulty) -> None:
        places, steps = difficulty["places"], difficulty["steps"]
        least = max(5, 2 ** (min(steps, 4) + 1) - 1)
        if not 1 <= steps <= 4 or places < least:
            raise InputError(
                f"graph_walk needs 1 to 4 steps, and with {steps} at least {least} places, got {places} places"
            )

    def chance(self, **difficulty: Any) -> float:
        """Both ends of the roads from one place, by lot; further away, those from one neighbour are seldom all."""
        return 0.25 if self.difficulty(difficulty)["steps"] == 1 else 0.1

    def draft(self, draw: Draw, difficulty: Difficulty) -> Draft:
        count, steps = difficulty["places"], difficulty["steps"]
        back = draw.balanced("direction", 2) == 1
        while True:
            roads = _roads(draw, count)
            ways = _turned(roads) if back else roads  # in the direction of the walk
            wanted, needed = _reached(ways, steps), _needed(ways, steps)
            exchanged = _exchange(ways, needed, wanted, steps)
            if wanted and exchanged is not None:
                break
        *names, fresh = draw.names(count + 1)
        order = draw.shuffled(range(len(roads)))
        renamed = [fresh if place == min(wanted) else name for place, name in enumerate(names)]

        def version(roads: list[tuple[int, int]], answer: set[int], names: list[str]) -> Version:
            records = tuple(
                Record(
                    f"A road leads from {names[roads[i][0]]} to {names[roads[i][1]]}.",
                    "evidence" if i in needed else "decoy",
                    f"road {i}",
                )
                for i in order
            )
            return Version(records, tuple(sorted(names[place] for place in answer)))

        away = f"exactly {NUMBERS[steps]} {'road' if steps == 1 else 'roads'} away"
        asked = f"From which places is {names[0]} {away}" if back else f"Which places are {away} from {names[0]}"
        other = _turned(exchanged) if back else exchanged
        return Draft(
            version(roads, wanted, names),
            f"{asked}, following the roads as they lead, on the shortest way? Name all of them.",
            swapped=version(other, _reached(exchanged, steps), names),
            altered=version(roads, wanted, renamed),
            facts={"direction": "back" if back else "onward", "size": len(wanted)},
        )

    def shown(self, records: Sequence[Record]) -> Sequence[Record]:
        """The roads that matter and two others: a part of the network is enough for an example."""
        others = [record for record in records if record.role == "decoy"][2:]
        return [record for record in records if record not in others]


def _roads(draw: Draw, count: int) -> list[tuple[int, int]]:
    """Two roads from each place and two to each: two permutations that agree with each other nowhere."""
    while True:
        one, two = (draw.shuffled(range(count)) for _ in range(2))
        if all(place != a != b != place for place, (a, b) in enumerate(zip(one, two, strict=True))):
            return [(place, to) for place in range(count) for to in (one[place], two[place])]


def _turned(roads: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(to, place) for place, to in roads]


def _distances(roads: list[tuple[int, int]]) -> dict[int, int]:
    found, edge = {0: 0}, [0]
    while edge:
        edge = sorted({to for place, to in roads if place in edge and to not in found})
        found.update({place: max(found.values()) + 1 for place in edge})
    return found


def _reached(roads: list[tuple[int, int]], steps: int) -> set[int]:
    return {place for place, distance in _distances(roads).items() if distance == steps}


def _needed(roads: list[tuple[int, int]], steps: int) -> set[int]:
    """The roads that make the answer: all that leave places nearer than it."""
    distances = _distances(roads)
    return {i for i, (place, _) in enumerate(roads) if distances.get(place, steps) < steps}


def _exchange(
    roads: list[tuple[int, int]], needed: set[int], wanted: set[int], steps: int
) -> list[tuple[int, int]] | None:
    """The network with the ends of one needed and one other road exchanged so that the answer is another."""
    have = set(roads)
    for i in sorted(needed):
        for j in sorted(set(range(len(roads))) - needed):
            (a, b), (c, d) = roads[i], roads[j]
            one, two = (a, d), (c, b)
            if one[0] == one[1] or two[0] == two[1] or one in have or two in have:
                continue
            changed = [one if k == i else two if k == j else road for k, road in enumerate(roads)]
            answer = _reached(changed, steps)
            if answer and answer != wanted and _needed(changed, steps) <= needed:
                return changed
    return None
