"""What a cluster offers a run, and what is said between the run and its workers."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ordinate.errors import Unavailable
from ordinate.validate.backends import Backend
from ordinate.validate.cells import Request, Sample
from ordinate.validate.claims import Claim
from ordinate.validate.executing import Executor
from ordinate.validate.fillers import Filler
from ordinate.validate.sampling import Sampler

Worker = Hashable
"""Asks one backend of its own."""

Ticket = Hashable
"""For what a worker will say."""


class Lost(Unavailable):
    """A worker is gone, or cannot be reached."""


@dataclass(frozen=True)
class Recipe:
    """What a worker needs to know to make the prompts that the run would make.

    Args:
        fillers: those that are not found by their names
        added: prompt tokens that a template of the engine's adds
        subject: what must answer, and how its prompts must be made
    """

    fillers: tuple[Filler, ...]
    added: int
    subject: Mapping[str, str]


@dataclass(frozen=True)
class Greeting:
    """A worker is ready.

    Args:
        concurrency: of its backend
        differences: between what the run wants to answer and what answers there
    """

    concurrency: int
    differences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What came of a request.

    Args:
        found: its sample, or why there is no usable reply
        seconds: how long it took
    """

    found: Sample | Unavailable
    seconds: float


class Crew(ABC):
    """Workers, wherever they are: they are hired, asked, and dismissed."""

    @abstractmethod
    def hire(self) -> tuple[Worker, Ticket]:
        """A new worker, and the ticket for its `Greeting`."""

    @abstractmethod
    def ask(self, worker: Worker, request: Request) -> Ticket:
        """Let a worker that is ready answer a request; the ticket is for an `Answer`."""

    @abstractmethod
    def first(self, tickets: Iterable[Ticket], seconds: float | None) -> Ticket | None:
        """A ticket that can be redeemed; None where there is none within so many seconds; None: waits for ever."""

    @abstractmethod
    def redeem(self, ticket: Ticket) -> Greeting | Answer:
        """What the worker said.

        Raises:
            Lost: it is gone before it said anything
            InputError, Unavailable: it cannot open its backend
        """

    @abstractmethod
    def dismiss(self, worker: Worker) -> None:
        """End a worker, whatever it is doing."""


class Cluster(ABC):
    """Where a run may be answered that is planned and kept here."""

    @property
    @abstractmethod
    def backend(self) -> Backend:
        """What answers, for planning: a worker's."""

    @abstractmethod
    def executor(self, sampler: Sampler) -> Executor:
        """Where the requests of a run are answered."""

    @abstractmethod
    def measure_levels(
        self, lengths: Sequence[int], levels: Sequence[str], *, mode: str, seed: int, seconds: float
    ) -> tuple[Claim, ...]:
        """The levels that need no tasks, measured where a worker is."""
