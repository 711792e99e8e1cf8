"""Workers in this process, some of which are lost at a scripted moment, in a cluster's place."""

import itertools
import random
from collections.abc import Callable, Iterable

from ordinate.errors import Unavailable
from ordinate.validate.backends import Backend
from ordinate.validate.cells import Request
from ordinate.validate.cluster.base import Answer, Crew, Greeting, Lost
from ordinate.validate.sampling import Sampler

Fate = Callable[[int, int, Request], bool]
"""From a worker's number, how many requests it had before, and the request: whether it is lost over it."""


class LosingCrew(Crew):
    """Answers in an order of its own; a worker that is lost loses all that it had not answered.

    Args:
        make: the sampler of a worker's own backend
        fate: which worker is lost when
        cannot: what a worker says that cannot begin, by its number
        seed: of the order
    """

    def __init__(
        self,
        make: Callable[[], Sampler],
        fate: Fate = lambda *_: False,
        *,
        cannot: Callable[[int], Greeting | Exception | None] = lambda _number: None,
        seed: int = 0,
    ) -> None:
        self.make, self.fate, self.cannot = make, fate, cannot
        self.samplers: list[Sampler] = []
        self.had: list[list[Request]] = []
        self.asked: list[tuple[Request, int]] = []
        self.flying: dict[int, set[int]] = {}
        self.together: dict[int, int] = {}  # of each ticket: how many the worker had, at most, while it had this one
        self.lost: set[int] = set()
        self.dismissed: set[int] = set()
        self.slow = False
        self._tickets: dict[int, tuple[int, Request | None]] = {}
        self._numbers = itertools.count()
        self._chance = random.Random(seed)  # noqa: S311 - an order, not secrets

    @property
    def backends(self) -> list[Backend]:
        return [sampler.kitchen.backend for sampler in self.samplers]

    def hire(self) -> tuple[int, int]:
        self.samplers.append(self.make())
        self.had.append([])
        worker = len(self.samplers) - 1
        self.flying[worker] = set()
        return worker, self._ticket(worker, None)

    def ask(self, worker: int, request: Request) -> int:
        assert worker not in self.dismissed
        ticket = self._ticket(worker, request)
        self.had[worker].append(request)
        self.asked.append((request, ticket))
        self.flying[worker].add(ticket)
        for one in self.flying[worker]:
            self.together[one] = max(self.together.get(one, 0), len(self.flying[worker]))
        return ticket

    def first(self, tickets: Iterable[int], seconds: float | None) -> int | None:
        if self.slow:
            assert seconds is not None
            return None
        if seconds == 0 and self._chance.random() < 0.8:
            return None
        return self._chance.choice(sorted(tickets))

    def redeem(self, ticket: int) -> Greeting | Answer:
        worker, request = self._tickets.pop(ticket)
        backend = self.samplers[worker].kitchen.backend
        if request is None:
            found = self.cannot(worker)
            if isinstance(found, Exception):
                raise found
            return found or Greeting(backend.concurrency)
        self.flying[worker].discard(ticket)
        if worker in self.lost or self.fate(worker, self.had[worker].index(request), request):
            self.lost.add(worker)
            raise Lost(f"worker {worker} is gone")
        try:
            return Answer(self.samplers[worker].sample(request), 0.01)
        except Unavailable as fault:
            return Answer(fault, 0.01)

    def company(self) -> list[int]:
        """Of each request that was asked again: how many its worker had, at most, while it had this one."""
        requests = [request for request, _ in self.asked]
        return [self.together[ticket] for i, (request, ticket) in enumerate(self.asked) if request in requests[:i]]

    def dismiss(self, worker: int) -> None:
        self.dismissed.add(worker)

    def _ticket(self, worker: int, request: Request | None) -> int:
        number = next(self._numbers)
        self._tickets[number] = worker, request
        return number
