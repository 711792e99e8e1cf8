"""An executor of workers that may be lost."""

from collections import deque
from dataclasses import dataclass

from ordinate.errors import InputError, Unavailable
from ordinate.validate.cells import Request
from ordinate.validate.cluster.base import Answer, Crew, Greeting, Lost, Ticket, Worker
from ordinate.validate.executing import AHEAD, Ended, Executor, Gone

LOSSES = 3
"""A request over which so many workers were lost gets no usable reply."""

PATIENCE = 1800.0
"""For a first worker to be ready, and for another where all were lost, [s]."""


@dataclass
class _Task:
    """A request, and how many workers were lost while they had it."""

    request: Request
    losses: int = 0


class Workers(Executor):
    """Requests go to the worker that has the least to do; what a lost worker had goes to others.

    A request over which a worker was lost is asked alone, by a worker that has nothing else, so that a request that
    kills whoever reads it does not take others with it. A worker that is lost after it was ready is replaced; one that
    cannot begin is not.

    Args:
        crew: who is hired
        count: how many
        patience: how long no worker at all is waited for, [s]
    """

    def __init__(self, crew: Crew, count: int, *, patience: float = PATIENCE) -> None:
        self._crew, self._patience = crew, patience
        self._places: dict[Worker, int] = {}  # of those that are ready: how many requests each may have
        self._hired: dict[Ticket, Worker] = {}
        self._asked: dict[Ticket, tuple[Worker, _Task]] = {}
        self._waiting: deque[_Task] = deque()
        self._ended: deque[Ended] = deque()
        self._why = "none was hired"
        for _ in range(count):
            self._hire()

    @property
    def room(self) -> int:
        return max(1, sum(self._places.values()))

    def submit(self, request: Request) -> None:
        self._waiting.append(_Task(request))
        self._deal()

    def ended(self, *, wait: bool) -> Ended | None:
        while not self._ended:
            if not self._redeemed(wait):
                return None
            self._deal()
        return self._ended.popleft()

    def close(self) -> None:
        for worker in (*self._places, *self._hired.values()):
            self._crew.dismiss(worker)

    def _hire(self) -> None:
        worker, ticket = self._crew.hire()
        self._hired[ticket] = worker

    def _deal(self) -> None:
        """Give what waits to workers that have a place for it."""
        while self._waiting:
            task = self._waiting[0]
            free = {worker: places - self._load(worker) for worker, places in self._places.items()}
            worker = max(free, key=lambda worker: free[worker], default=None)
            if worker is None or free[worker] < (self._places[worker] if task.losses else 1):
                return
            self._asked[self._crew.ask(worker, task.request)] = worker, self._waiting.popleft()

    def _load(self, worker: Worker) -> int:
        """How many of a worker's places are taken: all, where it has a request that is asked alone."""
        tasks = [task for one, task in self._asked.values() if one == worker]
        return self._places[worker] if any(task.losses for task in tasks) else len(tasks)

    def _redeemed(self, wait: bool) -> bool:
        """Whether a worker said something, or was lost."""
        if not self._places and not self._hired:
            raise Gone(f"no worker is left: {self._why}")
        seconds = None if self._places else self._patience
        ticket = self._crew.first((*self._asked, *self._hired), seconds if wait else 0)
        if ticket is None:
            if wait:
                raise Gone(f"no worker was ready within {self._patience:g} s")
            return False
        if ticket in self._hired:
            self._greeted(ticket)
        else:
            self._answered(ticket)
        return True

    def _greeted(self, ticket: Ticket) -> None:
        worker = self._hired.pop(ticket)
        try:
            greeting = self._crew.redeem(ticket)
        except (InputError, Unavailable) as error:
            self._why = str(error)
            self._crew.dismiss(worker)
            return
        assert isinstance(greeting, Greeting)  # noqa: S101 - by the ticket
        if greeting.differences:
            self._why = f"what answers there is not what the run wants: {'; '.join(greeting.differences)}"
            self._crew.dismiss(worker)
            return
        self._places[worker] = AHEAD * greeting.concurrency

    def _answered(self, ticket: Ticket) -> None:
        worker, task = self._asked.pop(ticket)
        try:
            answer = self._crew.redeem(ticket)
        except Lost as lost:
            self._why = str(lost)
            if self._places.pop(worker, None) is not None:  # the first of its requests that tells of it
                self._hire()
            task.losses += 1
            if task.losses < LOSSES:
                self._waiting.appendleft(task)
            else:
                self._ended.append((task.request, Unavailable(f"{LOSSES} workers were lost over it: {lost}"), 0.0))
            return
        assert isinstance(answer, Answer)  # noqa: S101 - by the ticket
        self._ended.append((task.request, answer.found, answer.seconds))
