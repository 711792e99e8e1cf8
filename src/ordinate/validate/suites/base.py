"""A suite: which tasks are asked how often, with their evidence where; and the trials that follow for one model."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ordinate.errors import InputError
from ordinate.registry import suggestion
from ordinate.validate.cells import Measure
from ordinate.validate.sampling.material import Material
from ordinate.validate.suites._entries import Entry, answers, tokens
from ordinate.validate.suites._lengths import grid, shortest
from ordinate.validate.suites._sizes import Sized
from ordinate.validate.trials import Trial

OFFERED: Mapping[Measure, str] = {"answer": "answer", "margin": "choices", "copy": "losses", "language": "losses"}
"""What a backend must offer for each measure."""

GIVES = {"answer": "answers in words", "choices": "log-probabilities of answers", "losses": "losses of prompts"}


@dataclass(frozen=True)
class Scope:
    """What a suite is asked for.

    Args:
        material: of the model's tokenizer
        offers: what the backend can give
        lengths: in any order, the others compared with the shortest, [token]; empty: a grid
        to: where the grid ends, [token]
        limit: what the model declares for prompt and answer together, [token]
        tasks: these alone; empty: the suite's
        filler: its identity
        mode: of the response
        seed: of the instances
        reserve: room for the answer, [token]; None: by the longest right answer
    """

    material: Material
    offers: frozenset[str] = frozenset({"answer"})
    lengths: tuple[int, ...] = ()
    to: int | None = None
    limit: int | None = None
    tasks: tuple[str, ...] = ()
    filler: str = "generated"
    mode: str = "base"
    seed: int = 0
    reserve: int | None = None


@dataclass(frozen=True)
class Plan:
    """The trials of a suite for one model, and in words what is not as it was asked for."""

    trials: tuple[Trial, ...]
    notes: tuple[str, ...] = ()


class Suite(ABC):
    """Tasks that are asked together; its class carries its file's name."""

    name: ClassVar[str]
    title: ClassVar[str]
    units: ClassVar[int]
    doublings: ClassVar[int | None] = None
    """How often the short length is doubled where no lengths are asked for; None: up to the model's limit."""
    controls: ClassVar[tuple[str, ...]] = ()
    control_units: ClassVar[int] = 12
    levels: ClassVar[tuple[str, ...]] = ("L1", "L2", "P", "L3")
    """What is measured where nothing else is asked for."""

    @abstractmethod
    def entries(self) -> tuple[Entry, ...]:
        """Its tasks, in the order in which they are asked."""

    def plan(self, scope: Scope) -> Plan:
        """The trials for one model.

        Every task has the lengths that hold its instances; the first of these is its short one.

        Raises:
            InputError: an unknown task, nothing left to ask, or lengths that hold no instance
        """
        notes: list[str] = []
        sized = [
            Sized(
                entry,
                scope.material,
                filler=scope.filler,
                mode=scope.mode,
                seed=scope.seed,
                reserve=scope.reserve,
            )
            for entry in self._offered(scope, notes)
        ]
        lengths = self._lengths(scope, sized, notes)
        trials = []
        for one in sized:
            fitting = [length for length in lengths if one.needed <= length <= (one.most or length)]
            for why, left in (
                (f"needs {one.needed} tokens", [length for length in lengths if length < one.needed]),
                (f"has a text of {one.most} tokens", [length for length in lengths if length > (one.most or length)]),
            ):
                if left:
                    notes.append(f"{one.entry.task} {why} and is not asked at {', '.join(map(str, left))}")
            if fitting:
                trials.append(self._trial(scope, one, fitting))
        if not trials:
            least = min(one.needed for one in sized)
            raise InputError(f"lengths must hold an instance: the smallest needs {least} tokens, got {list(lengths)}")
        return Plan(tuple(trials), tuple(notes))

    def asked(self, tasks: Sequence[str] = ()) -> tuple[Entry, ...]:
        """The suite's own tasks, or those of these names; one that is not the suite's is asked as in `standard`.

        Raises:
            InputError: an unknown task
        """
        own = self.entries()
        if not tasks:
            return own
        every = (*answers(("start", "middle")), *tokens(self.units, ("start", "middle")))
        known = sorted({entry.task for entry in (*own, *every)})
        unknown = next((name for name in tasks if name not in known), None)
        if unknown is not None:
            raise InputError(f"unknown task {unknown!r}{suggestion(unknown, known)}")
        mine = {entry.task for entry in own}
        return (
            *(entry for entry in own if entry.task in tasks),
            *(replace(entry, units=None) for entry in every if entry.task in tasks and entry.task not in mine),
        )

    def _offered(self, scope: Scope, notes: list[str]) -> list[Entry]:
        found = []
        for entry in self.asked(scope.tasks):
            offer = OFFERED[entry.measure]
            if offer in scope.offers:
                found.append(entry)
            else:
                notes.append(f"{entry.task} ({entry.measure}) is left out: no {GIVES[offer]} are to be had")
        if not found:
            raise InputError(f"suite {self.name!r} has nothing that can be asked here: {'; '.join(notes)}")
        return found

    def _lengths(self, scope: Scope, sized: Sequence[Sized], notes: list[str]) -> tuple[int, ...]:
        if scope.lengths:
            return tuple(sorted(set(scope.lengths)))
        short = shortest(max(one.needed for one in sized))
        end = scope.to
        if end is None:
            end = scope.limit if self.doublings is None else short * 2**self.doublings
        if end is None:
            raise InputError(f"suite {self.name!r} needs lengths, or where they end: the model declares no limit")
        reserve = max(one.reserve for one in sized)
        if scope.limit is not None and end <= scope.limit < end + reserve:
            end = scope.limit - reserve
            notes.append(f"the longest prompts have {end} tokens: {reserve} more are for the answer")
        if end < short:
            raise InputError(f"lengths must reach {short} tokens, which these tasks need, got {end}")
        return grid(short, end)

    def _trial(self, scope: Scope, one: Sized, lengths: Sequence[int]) -> Trial:
        entry = one.entry
        return Trial(
            task=entry.task,
            short=lengths[0],
            lengths=tuple(lengths[1:]),
            places=entry.places,
            measure=entry.measure,
            difficulty=one.difficulty(lengths),
            filler=one.filler,
            mode=one.mode,
            controls=self.controls if entry.measure == "answer" else (),
            units=self.units if entry.units is None else entry.units,
            control_units=self.control_units,
            seed=scope.seed,
            reserve=one.reserve if entry.measure == "answer" else 0,
        )
