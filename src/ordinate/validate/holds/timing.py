"""How long prompts of N tokens take: cold and warm, in an order drawn by chance."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ordinate.errors import InputError, Unavailable, positive_integer
from ordinate.validate.backends import Backend, Reply
from ordinate.validate.builder import Builder, Prompt
from ordinate.validate.deadline import Late
from ordinate.validate.instances import Instance

LEAST = 5
"""Each length is timed at least so often."""

STEPS = 8
"""Tokens of an answer, over which the time of one is taken."""

_TASK = "timing"
WARM = 2
"""So many repeats of each length are sent a second time."""


@dataclass(frozen=True)
class Timed:
    """One prompt.

    Args:
        length: [token]
        prefill: from sending to the first token, [s]
        decode: of each further token, [s/token]; None where the answer had no further one
        warm: the very same prompt was answered just before
        cached: how many of its tokens the engine says it took from a cache; None where it does not say
    """

    length: int
    prefill: float
    decode: float | None
    warm: bool
    cached: int | None


@dataclass(frozen=True)
class Times:
    """All that was timed.

    Args:
        timed: in the order of asking, without what was done to warm up
        failed: by length, the error for which it could not be timed
        ended: why not all was timed; else empty
    """

    timed: tuple[Timed, ...]
    failed: Mapping[int, Unavailable]
    ended: str = ""


def time_lengths(
    backend: Backend,
    lengths: Sequence[int],
    *,
    mode: str = "base",
    repeats: int = LEAST,
    steps: int = STEPS,
    seed: int = 0,
    clock: Callable[[], float] = time.monotonic,
    left: Callable[[], object] = lambda: None,
    progress: Callable[[str, float, float], None] | None = None,
) -> Times:
    """Time prompts of each length, each of them new to every cache, and some of them once more.

    Lengths follow one another in an order drawn by chance, so that what drifts (heat, other work) touches all of them
    alike. Before, the shortest and the longest are asked once, to warm up.

    Args:
        backend: asked, one prompt at a time
        lengths: [token]
        mode: of the prompts
        repeats: of each length, at least 5
        steps: tokens of each answer, at least 2
        seed: of the order and the texts
        clock: used where the backend does not say when the first token came, [s]
        left: raises `Late` once the time is up
        progress: told how many prompts are done

    Returns:
        what was timed until the time was up

    Raises:
        InputError: fewer repeats or steps, no length, or one that is too short for a prompt
    """
    if positive_integer("repeats", repeats) < LEAST:
        raise InputError(f"repeats must be at least {LEAST} for an interval, got {repeats}")
    if positive_integer("steps", steps) < 2:
        raise InputError(f"steps must be at least 2 for the time of one, got {steps}")
    if not lengths:
        raise InputError("lengths must be one or more numbers of tokens, got none")
    wanted = sorted({positive_integer("length", length) for length in lengths})
    every = [(length, repeat) for repeat in range(repeats) for length in wanted]
    order = [every[place] for place in np.random.default_rng(seed).permutation(len(every))]
    asker = _Asker(backend, Builder(backend.tokenizer, filler="generated", mode=mode), steps, seed, clock)
    failed: dict[int, Unavailable] = {}
    timed: list[Timed] = []
    warming = [(length, repeats) for length in dict.fromkeys((wanted[0], wanted[-1]))]
    for done, (length, repeat) in enumerate([*warming, *order]):
        if progress:
            progress("holds", done, len(order) + len(warming))
        if length in failed:
            continue
        try:
            left()
            found = list(asker.timed(length, repeat, twice=repeat < WARM and asker.caches))
        except Late as late:
            return Times(tuple(timed), failed, str(late))
        except Unavailable as error:
            failed[length] = error
            continue
        timed += found if repeat < repeats else []
    if progress:
        progress("holds", len(order) + len(warming), len(order) + len(warming))
    return Times(tuple(timed), failed)


class _Asker:
    def __init__(self, backend: Backend, builder: Builder, steps: int, seed: int, clock: Callable[[], float]) -> None:
        self.backend, self.builder, self.steps, self.seed, self.clock = backend, builder, steps, seed, clock
        self.caches = True  # until it says that it took nothing from a cache

    def timed(self, length: int, repeat: int, *, twice: bool) -> Iterator[Timed]:
        prompt = self._prompt(length, 2 * repeat)
        yield self._once(prompt, self._prompt(length, 2 * repeat + 1), warm=False)
        if twice:
            warm = self._once(prompt, None, warm=True)
            self.caches = warm.cached != 0
            yield warm

    def _once(self, prompt: Prompt, other: Prompt | None, *, warm: bool) -> Timed:
        room = self.steps
        if self.backend.limit is not None and len(prompt.ids) < self.backend.limit:
            room = min(room, self.backend.limit - len(prompt.ids))
        reply, seconds = self._ask(prompt, room)
        if reply.first is not None:
            further = (reply.tokens or 0) - 1
            decode = (seconds - reply.first) / further if further > 0 else None
            return Timed(len(prompt.ids), reply.first, decode, warm, reply.cached_tokens)
        # Without a first token to be seen, an answer of one token is asked for beside: of another prompt where this
        # one must not be in a cache.
        short, alone = self._ask(other or prompt, 1)
        further = (reply.tokens or room) - (short.tokens or 1)
        decode = max(seconds - alone, 0.0) / further if further > 0 else None
        return Timed(len(prompt.ids), alone, decode, warm, short.cached_tokens if warm else reply.cached_tokens)

    def _ask(self, prompt: Prompt, steps: int) -> tuple[Reply, float]:
        began = self.clock()
        reply = self.backend.answer(prompt, steps)
        took = self.clock() - began
        return reply, reply.seconds if reply.first is not None else took

    def _prompt(self, length: int, index: int) -> Prompt:
        instance = Instance(
            task=_TASK,
            index=index,
            seed=self.seed,
            records=(),
            question="What happened next?",
            lead="Next,",
            answer=("",),
        )
        return self.builder.build(instance, length, reserve=self.steps)
