"""Answers without reading stay at chance on every task that they are not allowed to solve.

What most shortcuts say depends on the records' sentences and their order alone, which the builder keeps the same at
every length, place and filler. Those of `distances` see filler, too. `tests/validate/test_placing.py` holds the laws
that leave them nothing to see; here they are counted.
"""

from collections.abc import Sequence

import numpy as np
import pytest
from validate_prompts import BYTES, builder, laid_out, made

from ordinate.errors import InputError
from ordinate.prove.statistics import wilson
from ordinate.validate.readers import Oracle
from ordinate.validate.readers.base import PageReader, Reader
from ordinate.validate.readers.forms.base import Form, Page, forms, read
from ordinate.validate.readers.shortcuts import SHORTCUTS, Adjacent, Alone, Crowded, Majority, Middle, Remote
from ordinate.validate.tasks import task_names

TASKS = task_names()
LENGTHS = (0, 2048, 4096)
"""Of prompts; 0: as long as it takes without filler."""
PLACES = ("start", "middle", "end", "spread")
FORMS: dict[str, Form] = {form.name: form for form in forms()}
DISTANCES = (
    Adjacent,
    Remote,
    Crowded,
    Alone,
    Middle,
)
FEW, MANY = 200, 8000  # units


class DayAlone(PageReader):
    """Where anybody moved to by the day that is asked for, whoever is asked for.

    Args:
        before: the last move until then: 0; so many moves before it; -1: the first one after
    """

    def __init__(self, before: int) -> None:
        super().__init__()
        self.name = f"day_alone_{before}"  # pyright: ignore[reportAttributeAccessIssue] - one for each
        self.before = before

    def choose(self, page: Page) -> str:
        moves = sorted((int(fact["day"]), fact["town"]) for fact in page.told)
        until = sum(day <= int(page.asked["day"]) for day, _ in moves)
        return moves[min(max(until - 1 - self.before, 0), len(moves) - 1)][1]


OWN: dict[str, list[Reader]] = {"state_at_time": [DayAlone(before) for before in (-1, 0, 1, 2)]}
"""Solvers that know the words of one task."""


def shortcuts(name: str) -> list[Reader]:
    """All shortcut solvers, the one that knows the answers of other instances, and those of the task alone."""
    source = made(name)
    others = [source.instance(99, index, demonstrations=0) for index in range(60)]
    majority = Majority([(other.question, source.write(other.answer)) for other in others])
    return [*SHORTCUTS, majority, *OWN.get(name, [])]


def shares(name: str, solvers: Sequence[Reader], units: int, length: int, seed: int = 0) -> np.ndarray:
    """For each solver and unit whether all members of the unit are right: [solvers, units].

    Places take turns. There are no demonstrations: shortcuts are given none of them by `read`.
    """
    source = made(name)
    found = np.zeros((len(solvers), units, source.members), dtype=bool)
    for index in range(units * source.members):
        instance = source.instance(seed, index, demonstrations=0)
        places = PLACES[index // source.members % len(PLACES)]
        text = BYTES.decode(laid_out(instance, length or builder().needed(instance), places).ids)
        page = read(text, [FORMS[name]])
        assert page is not None
        judged: dict[str, bool] = {}
        for row, solver in zip(found, solvers, strict=True):
            said = solver.choose(page) if isinstance(solver, PageReader) else solver.respond(text)
            if said not in judged:
                judged[said] = source.score(said, instance, continues=True).right
            row.flat[index] = judged[said]
    return np.asarray(found.all(axis=2))


def beyond(name: str, solvers: Sequence[Reader], found: np.ndarray, margin: float, side: int) -> dict[str, float]:
    """The solvers whose bound lies above chance and a margin, of those that may not solve the task.

    Args:
        name, solvers, found: the task, who solves it, and what `shares` says of them
        margin: above chance
        side: 0: the lower bound, of which one in 2,000 is above the truth; 1: the upper one, of which one in 20 is
            below it
    """
    level, units = (0.999, 0.9)[side], found.shape[1]
    bounds = {
        solver.name: wilson(int(won), units, level)[side]
        for solver, won in zip(solvers, found.sum(axis=1), strict=True)
    }
    allowed = made(name).chance() + margin
    return {
        solver.name: bounds[solver.name]
        for solver in solvers
        if bounds[solver.name] > allowed and name not in solver.solves
    }


@pytest.mark.parametrize("name", TASKS)
def test_no_shortcut_is_above_chance(name: str) -> None:
    """At small counts no solver's lower bound exceeds chance.

    With 200 units a bound of one in 2,000 lies 3.3 standard errors from what is counted. At a chance of 0.25 that is
    10 points, and a solver that is 14 points above chance is found in 9 of 10 such runs. The full counts find 3 points.
    """
    solvers = shortcuts(name)
    assert not beyond(name, solvers, shares(name, solvers, FEW, 1536), 0.0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", TASKS)
def test_every_shortcut_is_within_three_points_of_chance(name: str, length: int) -> None:
    """At full counts every solver's upper 95 % bound is within three points of chance.

    8,000 units, so that a solver at a chance of 0.25 exactly is beyond that once in 300,000 runs; with 4,000 it would
    be once in 280, and there are some 250 of them.
    """
    solvers = shortcuts(name)
    assert not beyond(name, solvers, shares(name, solvers, MANY, length), 0.03, 1)


def test_the_measure_finds_a_solver_that_reads() -> None:
    class Cheat(Oracle):
        name = "cheat"
        solves = frozenset()

    solvers = [Cheat(), *SHORTCUTS]
    assert set(beyond("multi_hop", solvers, shares("multi_hop", solvers, 40, 2048), 0.0, 0)) == {"cheat"}


@pytest.mark.parametrize("name", TASKS)
def test_answers_of_shortcuts_do_not_depend_on_the_length(name: str) -> None:
    for solver in shortcuts(name):
        if not isinstance(solver, DISTANCES):
            said = set()
            for length in (2048, 4096):
                prompt = laid_out(made(name).instance(3, 0), length, "middle")
                said.add(solver.answer(prompt.ids, BYTES))
            assert len(said) == 1, solver.name


def test_the_day_alone_names_whoever_moved_by_then() -> None:
    moves = ["On day 12 Tova moved to Kelu.", "On day 4 Merin moved to Bano.", "On day 8 Tova moved to Siru."]
    text = " ".join(moves) + "\nQuestion: In which town was Tova on day {}?\nAnswer:"
    said = {(day, own.before): own.respond(text.format(day)) for day in (4, 9, 11, 30) for own in map(DayAlone, (0, 1))}
    assert [said[day, 0] for day in (4, 9, 11, 30)] == ["bano", "siru", "siru", "kelu"]
    assert [said[day, 1] for day in (9, 30)] == ["bano", "siru"]
    assert DayAlone(-1).respond(text.format(9)) == "kelu"


def test_a_chain_without_decoys_is_solved_by_its_first_names() -> None:
    """The hole of the papers' task, which decoy chains close."""
    text = "Tova reports to Merin. Merin reports to Kelu. Kelu reports to Bano.\n"
    question = "Question: Tova reports to somebody, who may report to another, and so on. Who is the last?\nAnswer:"
    said = {solver.name: solver.respond(text + question) for solver in SHORTCUTS}
    assert said["first_names"] == "tova, merin, kelu, bano"
    assert said["first"] == said["chain_of_the_first"] == said["any_candidate"] == "bano"


def test_lookups_alone_may_be_solved_by_mentions() -> None:
    for solver in SHORTCUTS:
        assert solver.solves <= {"passkey", "near_key"}
        assert not solver.solves or solver.name in ("first_mention", "last_mention", "all_mentions")
    found = shares("near_key", [s for s in SHORTCUTS if s.solves], 20, 2048)
    assert found.all()


def test_majority_must_be_told_questions() -> None:
    with pytest.raises(InputError, match="questions of tasks"):
        Majority([("What?", "that")])
