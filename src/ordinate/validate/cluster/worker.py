"""What runs on the machines of a cluster: it opens what answers, builds prompts, asks, and returns samples."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ordinate.errors import Unavailable
from ordinate.validate.backends import Backend
from ordinate.validate.backends.base import Offer, Scored
from ordinate.validate.cells import Request
from ordinate.validate.claims import Claim
from ordinate.validate.cluster.base import Answer, Greeting, Recipe
from ordinate.validate.levels import measure_levels
from ordinate.validate.opening import Opening, opened
from ordinate.validate.sampling import Material, Sampler
from ordinate.validate.store.manifest import different
from ordinate.validate.tokenizers import Tokenizer


@dataclass(frozen=True)
class Facts:
    """What a worker's backend says of itself."""

    name: str
    identity: Mapping[str, str]
    tokenizer: Tokenizer
    limit: int | None
    offers: frozenset[Offer]
    concurrency: int
    scored: Scored


class Worker:
    """Its methods may be called from several threads.

    Args:
        opening: what answers, opened when it is first needed
    """

    def __init__(self, opening: Opening) -> None:
        self._opening, self._backend = opening, None
        self._sampler: Any = None
        self._building = threading.Lock()
        self._turns: Any = None

    def facts(self) -> Facts:
        """What answers here."""
        with self._building:
            one = self._opened()
        identity = dict(one.identity)
        return Facts(one.name, identity, one.tokenizer, one.limit, one.offers, one.concurrency, one.scored)

    def ready(self, recipe: Recipe) -> Greeting:
        """Get ready to answer requests."""
        with self._building:
            backend = self._opened()
            self._turns = threading.BoundedSemaphore(backend.concurrency)
            material = Material(backend.tokenizer, fillers=recipe.fillers)
            self._sampler = Sampler(backend, material, added=recipe.added)
        return Greeting(backend.concurrency, different(recipe.subject, self._sampler.subject))

    def sample(self, request: Request) -> Answer:
        """Answer a request."""
        with self._building:
            ask = self._sampler.prepare(request)
        with self._turns:
            began = time.monotonic()
            try:
                found = ask()
            except Unavailable as error:
                found = Unavailable(str(error))
            return Answer(found, time.monotonic() - began)

    def levels(
        self, lengths: Sequence[int], levels: Sequence[str], mode: str, seed: int, seconds: float
    ) -> tuple[Claim, ...]:
        """Claims of the levels that need no tasks."""
        return measure_levels(self._opened(), lengths, levels, mode=mode, seed=seed, seconds=seconds)

    def backend(self, method: str, *given: Any, **named: Any) -> Any:
        """What a method of the backend returns."""
        return getattr(self._opened(), method)(*given, **named)

    def _opened(self) -> Backend:
        if self._backend is None:
            self._backend = opened(self._opening)
        return self._backend
