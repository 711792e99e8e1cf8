"""Lookup through a dictionary of other names that stands elsewhere in the text."""

from typing import Any, ClassVar

from ordinate.errors import InputError
from ordinate.validate.tasks.base import Difficulty, Draft, Draw, Task, Version, decoys, evidence


class Indirect(Task):
    """Where somebody lives who is asked for by another name.

    The record with the answer shares no content word with the question: neither the name, which must be found in the
    dictionary, nor the words that tell of living in a place. No knowledge of the world is needed for the link, so that
    nothing is solved from memory.

    Source: Modarressi et al. 2025, arXiv 2502.05167 (NoLiMa: needles without literal overlap).
    Differs from the paper: the link stands in the text instead of in what a model knows, and every person has one.
    """

    name = "indirect"
    title = "Lookup by another name, without a shared word"
    abilities = ("retrieve", "link")
    further = ("{name} is a byname of {name}.", "{name} has settled at {name}.")
    defaults: ClassVar[Difficulty] = {"persons": 4}
    brief: ClassVar[Difficulty] = {"persons": 2}
    short: ClassVar[Difficulty] = {"persons": 4, "demonstrations": 1}

    def check(self, difficulty: Difficulty) -> None:
        if difficulty["persons"] < 2:
            raise InputError(f"indirect needs at least 2 persons, got {difficulty['persons']}")

    def chance(self, **difficulty: Any) -> float:
        """One of the places, named blindly."""
        return 1 / self.difficulty(difficulty)["persons"]

    def draft(self, draw: Draw, difficulty: Difficulty) -> Draft:
        count = difficulty["persons"]
        *drawn, fresh = draw.names(3 * count + 1)
        persons, aliases, places = drawn[:count], drawn[count : 2 * count], drawn[2 * count :]
        named = [f"{alias} is a byname of {person}." for alias, person in zip(aliases, persons, strict=True)]

        def version(places: list[str]) -> Version:
            told = [f"{person} has settled at {place}." for person, place in zip(persons, places, strict=True)]
            records = evidence([named[0]], "alias") + evidence([told[0]], "fact")
            records += decoys(named[1:], "other alias") + decoys(told[1:], "other fact")
            return Version(tuple(records), (places[0],))

        return Draft(
            version(places),
            f"In which town does the one called {aliases[0]} live now? Name the town.",
            swapped=version([places[1], places[0], *places[2:]]),
            altered=version([fresh, *places[1:]]),
            choices=tuple(sorted(places)),
        )
