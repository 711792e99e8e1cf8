"""What a run asks: one task at a short length and at longer ones, with its evidence in several places."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

from ordinate.errors import InputError, non_negative_integer, one_of, positive_integer
from ordinate.registry import lookup
from ordinate.validate.builder import MODES
from ordinate.validate.cells import Cell, Measure, Request
from ordinate.validate.instances import CONTROLS
from ordinate.validate.statistics import LOOKS

TASKS = "ordinate.validate.tasks"


@dataclass(frozen=True)
class Trial:
    """One task under one measure; its longer lengths are compared with its own short one, place by place.

    Args:
        task: its name
        short: the baseline's length, [token]
        lengths: the longer ones, rising, [token]
        places: where the evidence stands; each is a cell of its own at every length. In `associative_copy` where the
            first copy stands, in `language_modelling` which context it is
        measure: what is measured
        difficulty: of the task, what differs from its defaults, sorted by name
        filler: its identity
        mode: of the response
        controls: which are asked, at the short length and the first place alone
        units: how many at most, one of `LOOKS`
        control_units: how many of each control
        seed: of the instances
        reserve: room for the answer, [token]

    Raises:
        InputError: unknown names, lengths that do not rise, or a number that does not fit
    """

    task: str
    short: int
    lengths: tuple[int, ...]
    places: tuple[str, ...] = ("spread",)
    measure: Measure = "answer"
    difficulty: tuple[tuple[str, Any], ...] = ()
    filler: str = ""
    mode: str = "base"
    controls: tuple[str, ...] = ()
    units: int = LOOKS[0]
    control_units: int = 12
    seed: int = 0
    reserve: int = 0

    def __post_init__(self) -> None:
        one_of("measure", self.measure, get_args(Measure))
        one_of("mode", self.mode, MODES)
        one_of("units", self.units, LOOKS)  # type: ignore[arg-type]
        positive_integer("short", self.short)
        positive_integer("control_units", self.control_units)
        non_negative_integer("seed", self.seed)
        non_negative_integer("reserve", self.reserve)
        for control in self.controls:
            one_of("a control", control, CONTROLS)
        row = (self.short, *self.lengths)
        if list(row) != sorted(set(row)):
            raise InputError(f"lengths must rise from the short one, got {', '.join(map(str, row))}")
        if not self.places or len(set(self.places)) != len(self.places):
            raise InputError(f"places must be one or more, each once, got {self.places}")
        if list(self.difficulty) != sorted(self.difficulty):
            raise InputError(f"difficulty must be sorted by name, got {self.difficulty}")

    @cached_property
    def kind(self) -> Any:
        """The task's class."""
        return lookup(TASKS, self.task, "task")

    @property
    def members(self) -> int:
        """How many instances make a unit."""
        return getattr(self.kind, "members", 1)

    @property
    def abilities(self) -> tuple[str, ...]:
        """What a reader needs for it."""
        return self.kind.abilities

    @property
    def level(self) -> Mapping[str, Any]:
        """The difficulty, as a task takes it."""
        return dict(self.difficulty)

    def cell(self, length: int, places: str, control: str = "") -> Cell:
        """The cell of a length and place.

        Raises:
            InputError: not one of the trial's
        """
        if length != self.short and length not in self.lengths:
            raise InputError(f"length must be one of {self.short}, {', '.join(map(str, self.lengths))}, got {length}")
        one_of("places", places, self.places)
        return Cell(
            self.measure,
            self.task,
            length,
            places,
            self.difficulty,
            self.filler,
            self.mode,
            control,
            self.reserve,
        )

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All of them in the order of the plan: from short to long, place by place, then the controls."""
        rows = [self.cell(length, place) for length in (self.short, *self.lengths) for place in self.places]
        return (*rows, *(self.cell(self.short, self.places[0], control) for control in self.controls))

    def requests(self, cell: Cell, first: int, last: int) -> tuple[Request, ...]:
        """What is asked for the units first to last - 1 of a cell, all members of each."""
        return tuple(Request(cell, self.seed, index) for index in range(first * self.members, last * self.members))
