"""Where requests are answered, several at a time: in threads of this process, or elsewhere."""

import queue
import threading
import time
from abc import ABC, abstractmethod

from ordinate.errors import Unavailable
from ordinate.validate.cells import Request, Sample
from ordinate.validate.sampling import Sampler
from ordinate.validate.sampling.base import Ask

AHEAD = 2
"""Prompts made or in flight at a time, for each that may be in flight."""

Ended = tuple[Request, Sample | Unavailable, float]
"""A request; its sample, or why there is no usable reply; and how long it took, [s]."""


class Gone(Unavailable):
    """Nothing is left that could answer any request."""


class Executor(ABC):
    """Takes requests, and gives back what came of them in the order in which they end."""

    @property
    @abstractmethod
    def room(self) -> int:
        """How many requests it takes at a time, at least 1; it may change with time."""

    @abstractmethod
    def submit(self, request: Request) -> None:
        """Take a request; call this, and `ended`, from one thread alone."""

    @abstractmethod
    def ended(self, *, wait: bool) -> Ended | None:
        """A request that ended; None where none has so far, and it is not to be waited for.

        Raises:
            Gone: nothing is left that could answer
            BaseException: what is wrong with the package itself
        """

    @abstractmethod
    def close(self) -> None:
        """Take no more; what has not begun never will, and nothing is waited for."""


class Threads(Executor):
    """Prompts are built here, and asked in as many threads as the backend takes.

    Args:
        sampler: of the backend
    """

    def __init__(self, sampler: Sampler) -> None:
        workers = sampler.kitchen.backend.concurrency
        self._sampler, self._room = sampler, AHEAD * workers
        self._asking: queue.SimpleQueue[tuple[Request, Ask] | None] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[tuple[Request, Sample | BaseException, float]] = queue.SimpleQueue()
        self._threads = [
            # daemons: whoever ends this process does not wait for replies that may not come
            threading.Thread(target=self._work, name="ordinate-validate", daemon=True)
            for _ in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def room(self) -> int:
        return self._room

    def submit(self, request: Request) -> None:
        self._asking.put((request, self._sampler.prepare(request)))

    def ended(self, *, wait: bool) -> Ended | None:
        try:
            request, found, seconds = self._ended.get(block=wait)
        except queue.Empty:
            return None
        if isinstance(found, Sample | Unavailable):
            return request, found, seconds
        raise found

    def close(self) -> None:
        while not self._asking.empty():
            try:
                self._asking.get_nowait()
            except queue.Empty:  # a thread was quicker
                break
        for _ in self._threads:
            self._asking.put(None)

    def _work(self) -> None:
        """Ask what is put into one queue, and put what comes of it, whatever it is, into the other."""
        while (work := self._asking.get()) is not None:
            request, ask = work
            began = time.monotonic()
            try:
                found: Sample | BaseException = ask()
            except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
                found = error
            self._ended.put((request, found, time.monotonic() - began))
