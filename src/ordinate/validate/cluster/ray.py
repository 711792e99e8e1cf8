"""Workers of a Ray cluster that runs already: actors, each with a backend of its own."""

import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ordinate.errors import InputError, Unavailable
from ordinate.extras import need
from ordinate.validate.backends import Backend, Losses, Reply
from ordinate.validate.builder import Prompt
from ordinate.validate.cells import Request
from ordinate.validate.claims import Claim
from ordinate.validate.cluster.base import Cluster, Crew, Lost, Recipe
from ordinate.validate.cluster.sharing import share, written
from ordinate.validate.cluster.worker import Facts, Worker
from ordinate.validate.cluster.workers import PATIENCE, Workers
from ordinate.validate.executing import AHEAD
from ordinate.validate.opening import Opening
from ordinate.validate.sampling import Sampler
from ordinate.validate.tokenizers import Tokenizer

CONCURRENCY = 4
"""Of backends where none is asked for; a worker's own has the last word."""

CONNECTING = 10.0
"""To the cluster's address, [s]."""


class RayCluster(Cluster):
    """Answers a run with workers of a Ray cluster.

    The plan, what is asked next, and the run folder stay here; a worker opens what answers, builds prompts, asks, and
    returns samples. Ordinate must be installed on every machine, in one version and with the extras of the backend, and
    a model's or key's file must be found there by the same path.

    Args:
        address: of a cluster that runs: "auto", or "HOST:PORT"; this machine must be one of the cluster's
        opening: what answers
        workers: how many; None: as many as the cluster has room for, by `share`

    Raises:
        InputError: an address of another form, a device that no worker has, or no number of workers
        Unavailable: Ray is not installed, no cluster answers, or it has no room for a worker
    """

    def __init__(self, address: str, opening: Opening, workers: int | None = None) -> None:
        where = _host_and_port(address)
        device = opening.device
        if device is not None and device.partition(":")[0] == "cuda" and device not in ("cuda", "cuda:0"):
            raise InputError(f"a worker has one graphics card, which it knows as cuda, got {device!r}")
        self._opening = replace(opening, **_absolute(opening))
        need("ray", "ray")
        import ray  # pyright: ignore[reportMissingImports]
        from ray.exceptions import RayError  # pyright: ignore[reportMissingImports]

        self._ray: Any = ray
        self._backend: Backend | None = None
        try:
            if where is not None:  # Ray itself would try for minutes
                socket.create_connection(where, CONNECTING).close()
            self._ray.init(address=address, log_to_driver=False, configure_logging=False)
        except (OSError, RuntimeError, ValueError, RayError) as error:
            raise Unavailable(f"the Ray cluster at {address} cannot be joined: {_line(error)}") from error
        try:
            nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
            self._share, self.workers = share(self._opening, nodes, workers)
            self._actors = _Actors(self._ray, self._opening, self._share)
        except BaseException:
            self.close()
            raise

    @property
    def sentence(self) -> str:
        """What is asked of the cluster."""
        return f"workers of a Ray cluster answer: {self.workers}, with {written(self._share)} each"

    @property
    def backend(self) -> Backend:
        """That of the first worker, once it is there."""
        if self._backend is None:
            self._backend = self._actors.backend()
        return self._backend

    def executor(self, sampler: Sampler) -> Workers:
        self._actors.recipe = Recipe(sampler.material.fillers, sampler.kitchen.added, dict(sampler.subject))
        return Workers(self._actors, self.workers)

    def measure_levels(
        self, lengths: Sequence[int], levels: Sequence[str], *, mode: str, seed: int, seconds: float
    ) -> tuple[Claim, ...]:
        return self._actors.call("levels", lengths, levels, mode, seed, seconds)

    def close(self) -> None:
        """Leave the cluster, which ends the workers."""
        self._ray.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Actors(Crew):
    """Workers as actors; the first is hired at once, for planning."""

    def __init__(self, ray: Any, opening: Opening, share: Mapping[str, int]) -> None:
        self._ray, self._opening = ray, opening
        at_once = AHEAD * (opening.concurrency or CONCURRENCY) + 1
        settings = {**share, "max_concurrency": at_once, "scheduling_strategy": "SPREAD"}
        # A lost worker is replaced by another, which may be elsewhere: Ray need not begin it again, nor ask twice.
        self._kind = ray.remote(Worker).options(**settings, max_restarts=0, max_task_retries=0)
        self._first = self._kind.remote(opening)
        self._planner: Any = self._first
        self.recipe: Recipe | None = None

    def hire(self) -> tuple[Any, Any]:
        worker, self._planner = self._planner or self._kind.remote(self._opening), None
        return worker, worker.ready.remote(self.recipe)

    def ask(self, worker: Any, request: Request) -> Any:
        return worker.sample.remote(request)

    def first(self, tickets: Iterable[Any], seconds: float | None) -> Any:
        done, _ = self._ray.wait(list(tickets), num_returns=1, timeout=seconds)
        return done[0] if done else None

    def redeem(self, ticket: Any, seconds: float | None = None) -> Any:
        from ray.exceptions import GetTimeoutError, RayError, RayTaskError  # pyright: ignore[reportMissingImports]

        try:
            return self._ray.get(ticket, timeout=seconds)
        except RayTaskError as error:
            if isinstance(error.cause, InputError | Unavailable):
                raise error.cause from error
            raise
        except GetTimeoutError as error:
            raise Unavailable(f"no worker was ready within {seconds:g} s") from error
        except RayError as error:
            raise Lost(f"a worker is gone: {_line(error)}") from error

    def dismiss(self, worker: Any) -> None:
        self._ray.kill(worker)

    def call(self, method: str, *given: Any, seconds: float | None = None, **named: Any) -> Any:
        """What a method of the first worker returns."""
        return self.redeem(getattr(self._first, method).remote(*given, **named), seconds)

    def backend(self) -> "_Remote":
        """The first worker's."""
        return _Remote(self, self.call("facts", seconds=PATIENCE))


class _Remote(Backend):
    """The backend of the first worker."""

    def __init__(self, actors: _Actors, facts: Facts) -> None:
        self._actors, self._facts = actors, facts
        self.name = facts.name  # pyright: ignore[reportAttributeAccessIssue] - of what it stands for
        self.concurrency, self.offers, self.scored = facts.concurrency, facts.offers, facts.scored

    @property
    def identity(self) -> Mapping[str, str]:
        return self._facts.identity

    @property
    def tokenizer(self) -> Tokenizer:
        return self._facts.tokenizer

    @property
    def limit(self) -> int | None:
        return self._facts.limit

    def answer(self, prompt: Prompt, tokens: int, *, stop: Sequence[str] = ()) -> Reply:
        return self._actors.call("backend", "answer", prompt, tokens, stop=stop)

    def choices(self, prompt: Prompt, options: Sequence[str]) -> tuple[float, ...]:
        return self._actors.call("backend", "choices", prompt, options)

    def losses(self, ids: Sequence[int], last: int) -> Losses:
        return self._actors.call("backend", "losses", ids, last)


def _absolute(opening: Opening) -> dict[str, str]:
    """The files that are here, by paths that do not depend on the current directory."""
    given = {name: getattr(opening, name) for name in ("source", "tokenizer", "key_file")}
    return {
        name: str(Path(value).absolute()) for name, value in given.items() if value is not None and Path(value).exists()
    }


def _host_and_port(address: str) -> tuple[str, int] | None:
    """Where the cluster listens; None where Ray is to find one that runs on this machine."""
    if address == "auto":
        return None
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdigit() or int(port) > 65535:
        raise InputError(f"a cluster's address must be auto or HOST:PORT, got {address!r}")
    return host.strip("[]"), int(port)


def _line(error: BaseException) -> str:
    """The first line of what an error says."""
    return str(error).strip().partition("\n")[0]
