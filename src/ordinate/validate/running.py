"""A run: what is undecided is asked, until nothing is, or until a budget or too many faults in a row end it."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from ordinate.errors import Unavailable
from ordinate.validate.cells import Request, Sample
from ordinate.validate.estimate import amount, cost, spent
from ordinate.validate.executing import Ended, Executor, Gone, Threads
from ordinate.validate.sampling import Sampler
from ordinate.validate.store.folder import RunFolder, planned_requests
from ordinate.validate.trials import Trial
from ordinate.validate.uses.planning import undecided
from ordinate.validate.uses.tallies import tally

FAULTS = 8
"""So many faults in a row end a run: what answers is gone, or was never there."""

Report = Callable[[str, float, float], None]
Early = Literal["budget", "faults"]


@dataclass(frozen=True)
class Limits:
    """Where a run ends early.

    Args:
        tokens: of prompts and answers together, of the whole run, what was sampled before included; None: no limit
        seconds: from now on, [s]; None: no limit
        faults: so many in a row end it
    """

    tokens: int | None = None
    seconds: float | None = None
    faults: int = FAULTS


@dataclass(frozen=True)
class Course:
    """How a run went.

    Args:
        ended: "complete": nothing is undecided; "budget": tokens or time are spent; "faults": too many in a row, or
            nothing is left that could answer; "parts": of merged shards some are missing
        why: in a sentence; empty where it is complete
        taken: samples of this call
        tokens: about how many the whole run took so far, [token]
    """

    ended: Literal["complete", "budget", "faults", "parts"]
    why: str = ""
    taken: int = 0
    tokens: int = 0


def run(
    sampler: Sampler,
    folder: RunFolder,
    *,
    limits: Limits | None = None,
    progress: Report | None = None,
    executor: Executor | None = None,
) -> Course:
    """Go on with a run until it is complete or has to end.

    What is asked next follows from what was sampled alone, so that a run that was killed and goes on ends with the
    same samples as one that was not. When it is complete, the samples are written anew in the order of the plan.

    A fault is no usable reply after all tries of the backend. What it was asked for is asked once more after all
    others; a second fault is a sample of the outcome "error". Faults in a row that end the run are no samples, so that
    a resumed run asks again.

    Args:
        sampler: whom to ask
        folder: where samples go
        limits: where it ends early
        progress: called with a stage's name, samples taken, and samples that are known to be wanted
        executor: where requests are answered, and closed at the end; None: in threads of this process
    """
    executor = executor or Threads(sampler)
    runner = _Runner(sampler, folder, limits or Limits(), progress, executor)
    try:
        while wanted := runner.wanted():
            runner.take(wanted)
    except _Stop as stop:
        return Course(stop.ended, str(stop), runner.taken, runner.tokens)
    except Gone as gone:
        return Course("faults", str(gone), runner.taken, runner.tokens)
    finally:
        executor.close()
    folder.finish()
    return Course("complete", "", runner.taken, runner.tokens)


class _Stop(Exception):
    """Ends a run before it is complete, and says how."""

    def __init__(self, ended: Early, why: str) -> None:
        super().__init__(why)
        self.ended: Early = ended


class _Runner:
    """The state of one call of `run`."""

    def __init__(
        self, sampler: Sampler, folder: RunFolder, limits: Limits, progress: Report | None, executor: Executor
    ) -> None:
        self.sampler, self.folder, self.limits, self.progress = sampler, folder, limits, progress
        self.executor = executor
        self.taken = self.streak = 0
        self.tokens = spent(one.cell for one in folder.samples.values())
        self._began = time.monotonic()

    def wanted(self) -> list[Request]:
        """What is to be asked next, each once, in the order of the plan."""
        manifest = self.folder.manifest
        asked = planned_requests(manifest) if manifest.shard else self._undecided(manifest.trials, manifest.search)
        found = {request.key(self.sampler.subject): request for request in asked}
        return [request for key, request in found.items() if key not in self.folder.samples]

    def _undecided(self, trials: Iterable[Trial], search: bool) -> Iterator[Request]:
        for trial in trials:
            sampled = tally(trial, self.folder.samples.values())
            for one in undecided(trial, sampled, search=search):
                yield from trial.requests(one.cell, one.first, one.last)

    def take(self, wanted: list[Request]) -> None:
        """Ask for all of these, and once more for those that end in a fault."""
        total = len(self.folder.samples) + len(wanted)
        again = self._asked(wanted, total)
        for request, fault in self._asked([request for request, _ in again], total):
            self._keep(self.sampler.failed(request, str(fault)), None, total)

    def _asked(self, wanted: list[Request], total: int) -> list[tuple[Request, Unavailable]]:
        """Ask for all of these; those that end in a fault are returned."""
        faults: list[tuple[Request, Unavailable]] = []
        flying = 0

        def take(ended: Ended | None) -> bool:
            nonlocal flying
            if ended is None:
                return False
            request, found, seconds = ended
            flying -= 1
            if isinstance(found, Sample):
                self.streak = 0
                self._keep(found, seconds, total)
            else:
                faults.append((request, found))
                self._count(found)
            return True

        for request in wanted:
            try:
                self._allow(cost(request.cell))
            except _Stop:
                while flying:  # what is in flight is paid for
                    take(self.executor.ended(wait=True))
                raise
            self.executor.submit(request)
            flying += 1
            while flying and take(self.executor.ended(wait=flying >= self.executor.room)):
                pass
        while flying:
            take(self.executor.ended(wait=True))
        return faults

    def _keep(self, sample: Sample, seconds: float | None, total: int) -> None:
        self.folder.add(sample, seconds)
        self.taken += 1
        if self.progress is not None:
            self.progress("samples", len(self.folder.samples), total)

    def _count(self, fault: Unavailable) -> None:
        self.streak += 1
        if self.streak >= self.limits.faults:
            raise _Stop("faults", f"{self.streak} faults in a row; the last: {fault}")

    def _allow(self, more: int) -> None:
        """Count the tokens of a request, or end the run."""
        limits = self.limits
        if limits.tokens is not None and self.tokens + more > limits.tokens:
            raise _Stop("budget", f"the budget of {amount(limits.tokens)} tokens is spent")
        if limits.seconds is not None and time.monotonic() - self._began > limits.seconds:
            raise _Stop("budget", f"the {limits.seconds:g} s are spent")
        self.tokens += more
