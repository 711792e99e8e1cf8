"""A run before it starts: what is asked for, what determines it, and what it will take."""

import hashlib
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from ordinate.errors import InputError, one_of, positive_integer
from ordinate.validate.backends import Backend
from ordinate.validate.cards import read_claims
from ordinate.validate.estimate import Estimate, cost, estimate
from ordinate.validate.fillers import find
from ordinate.validate.fillers import named as named_filler
from ordinate.validate.levels import level_tokens
from ordinate.validate.opening import Opening
from ordinate.validate.sampling import Material, Sampler, counter
from ordinate.validate.sampling.base import Ask
from ordinate.validate.store import Manifest, read_manifest
from ordinate.validate.suites import Scope
from ordinate.validate.suites import find as find_suite
from ordinate.validate.trials import Trial
from ordinate.validate.uses.tallies import every

FILLER_FILE, LEVELS, MEMORY = "filler_file", "levels", "memory"
"""What a manifest's `opening` holds beside an `Opening`."""

OTHERS = ("L1", "L2", "P")
"""Levels that need no tasks."""

LONGEST = 100_000_000
"""Ten times the longest window that any model claims: what is longer was mistyped, [token]."""

LEVEL_SECONDS = 1800.0
"""For these together, [s]."""


@dataclass(frozen=True)
class Asked:
    """What a user asks for.

    Args:
        suite: its name
        lengths: in any order, the others compared with the shortest, [token]; empty: a grid
        to: where the grid ends, [token]
        tasks: these alone; empty: the suite's
        filler: a name, or the path of a text file
        mode: of the response: "base", "chat" or "reasoning"
        seed: of the instances
        reserve: room for the answer, [token]; None: by the longest right answer
        search: look for the longest length by bisection
        shard: which of how many parts, from 0
        levels: "L3", which asks the suite's tasks, and others beside it; None: the suite's, of a shard and of a
            simulated reader "L3" alone
        memory: within which L2 holds a length, and the longest that fits is looked for; None: nothing is, [byte]
    """

    suite: str = "standard"
    lengths: tuple[int, ...] = ()
    to: int | None = None
    tasks: tuple[str, ...] = ()
    filler: str = "prose"
    mode: str = "base"
    seed: int = 0
    reserve: int | None = None
    search: bool = False
    shard: tuple[int, int] | None = None
    levels: tuple[str, ...] | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        if self.lengths and self.to is not None:
            raise InputError("lengths are given, or where they end, not both")
        longest = max((*self.lengths, self.to or 0))
        if longest > LONGEST:
            raise InputError(f"lengths must be at most {LONGEST:,} tokens, got {longest:,}")
        if self.shard is not None and not 0 <= self.shard[0] < self.shard[1]:
            raise InputError(f"a shard must be i/n with 0 <= i < n, got {self.shard[0]}/{self.shard[1]}")
        for level in self.levels or ():
            one_of("level", level, (*OTHERS, "L3"))
        if self.shard is not None and self.search:
            raise InputError("a shard takes all its samples: there is nothing to search by")


@dataclass(frozen=True)
class Ready:
    """A run that can be started.

    Args:
        manifest: what determines it
        sampler: whom it asks
        estimate: what it will take
    """

    manifest: Manifest
    sampler: Sampler
    estimate: Estimate


def prepare(backend: Backend, asked: Asked, opening: Opening | None = None) -> Ready:
    """Plan a run; one prompt is asked, to see how quick answers are and what a template of the engine's adds.

    Args:
        backend: what answers
        asked: for what
        opening: how it was opened, for `resume`

    Raises:
        InputError: what is asked for cannot be, or the first prompt of a task cannot be built
        Unavailable: no usable reply to the one prompt
    """
    filler = named_filler(asked.filler)
    material = Material(backend.tokenizer, fillers=(filler,))
    scope = Scope(
        material=material,
        offers=backend.offers,
        lengths=asked.lengths,
        to=asked.to,
        limit=backend.limit,
        tasks=asked.tasks,
        filler=filler.identity,
        mode=asked.mode,
        seed=asked.seed,
        reserve=asked.reserve,
    )
    suite = find_suite(asked.suite)
    plan = suite.plan(scope)
    sampler, rate = _measured(Sampler(backend, material), plan.trials)
    settings = {} if opening is None else opening.to_dict()
    if filler.name == "file":
        settings[FILLER_FILE] = str(Path(asked.filler).absolute())
    alone = asked.shard is not None or backend.name == "simulated"
    levels = asked.levels if asked.levels is not None else ("L3",) if alone else suite.levels
    settings[LEVELS] = list(levels)
    if asked.memory is not None:
        _check_memory(backend, levels)
        settings[MEMORY] = positive_integer("memory", asked.memory)
    manifest = Manifest(
        suite=asked.suite,
        subject=dict(sampler.subject),
        seed=asked.seed,
        trials=plan.trials,
        search=asked.search,
        shard=asked.shard,
        opening=settings,
        notes=plan.notes,
    )
    return Ready(manifest, sampler, _estimate(manifest, sampler, levels, rate))


def resume(folder: Path, backend: Backend) -> Ready:
    """Get a run ready that was begun before, for what answers now.

    Raises:
        InputError: the folder is no run, or what answers is not what it was
    """
    manifest = read_manifest(folder)
    file = manifest.opening.get(FILLER_FILE)
    material = Material(backend.tokenizer, fillers=() if file is None else (find("file", file),))
    sampler = Sampler(backend, material, added=int(manifest.subject.get("added", 0)))
    differences = manifest.differences(replace(manifest, subject=dict(sampler.subject)))
    if differences:
        raise InputError(f"what answers is not what it was when {folder} was begun: {'; '.join(differences)}")
    known = {claim.level for claim in read_claims(folder)}
    levels = [level for level in manifest.opening.get(LEVELS, ("L3",)) if level not in known]
    return Ready(manifest, sampler, _estimate(manifest, sampler, levels))


def opening_of(folder: Path) -> Opening:
    """How a run's backend was opened.

    Raises:
        InputError: the folder is no run
    """
    settings = dict(read_manifest(folder).opening)
    levels = settings.get(LEVELS, [])
    if not isinstance(levels, list) or any(level not in (*OTHERS, "L3") for level in levels):
        raise InputError(f"{folder} asks for levels that there are not: {levels!r}")
    for name in (FILLER_FILE, LEVELS, MEMORY):
        settings.pop(name, None)
    try:
        return msgspec.convert(settings, Opening)
    except msgspec.ValidationError as error:
        raise InputError(f"{folder} does not say how to open what answers: {error}") from error


def _check_memory(backend: Backend, levels: Sequence[str]) -> None:
    """Raise `InputError` where no length can be tried in a process whose memory is bounded."""
    from ordinate.validate.holds.memory import job_of

    if "L2" not in levels:
        raise InputError(f"memory bounds L2, got the levels {', '.join(levels)}: add L2")
    if job_of(backend) is None:
        raise InputError(
            f"memory bounds a model of transformers from a directory or a name, got the backend {backend.name}"
        )


def name_of(manifest: Manifest, opening: Opening) -> str:
    """A folder's name that is always the same for the same run."""
    determined = replace(manifest, opening={}, notes=())
    shown = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(opening.named).name).strip("-.")
    number = hashlib.sha256(determined.encode()).hexdigest()[:8]
    return f"validate-{manifest.suite}-{shown}-{number}"


def lengths_of(manifest: Manifest) -> list[int]:
    """Every length that a run asks, [token]."""
    return sorted({length for trial in manifest.trials for length in every(trial)})


def _estimate(manifest: Manifest, sampler: Sampler, levels: Sequence[str], rate: float | None = None) -> Estimate:
    backend = sampler.kitchen.backend
    found = estimate(
        manifest.trials if "L3" in levels else (),
        rate=rate,
        shard=manifest.shard,
        count=counter(sampler.kitchen),
        stepped=backend.scored == "token",
    )
    others = tuple(level for level in levels if level in OTHERS)
    if not others:
        return found
    least, most = level_tokens(backend, lengths_of(manifest), others, mode=level_mode(manifest))
    return replace(found, levels=others, level_least=least, level_most=most, level_seconds=LEVEL_SECONDS)


def level_mode(manifest: Manifest) -> str:
    """In which mode levels beside L3 are asked: there is no reasoning about them."""
    return "base" if manifest.trials[0].mode == "base" else "chat"


def _measured(sampler: Sampler, trials: Sequence[Trial]) -> tuple[Sampler, float | None]:
    """The sampler that knows what a template adds, and tokens in a second, both by one prompt of a short length."""
    trial = min(trials, key=lambda trial: (trial.measure != "answer", trial.short))
    ask = {id(one): _first(sampler, one) for one in trials}[id(trial)]
    _check_fillers(sampler, trials)
    began = time.monotonic()
    sample = ask()
    rate = cost(trial.cell(trial.short, trial.places[0])) / max(time.monotonic() - began, 1e-6)
    if sample.outcome == "refused":  # nothing was read: a run will say so of each
        return sampler, None
    if sample.counted is None or trial.mode == "base":
        return sampler, rate
    return Sampler(sampler.kitchen.backend, sampler.material, added=sample.counted - trial.short), rate


def _first(sampler: Sampler, trial: Trial, length: int | None = None) -> Ask:
    """The first prompt of a trial, built; at its short length, where no other is given.

    Raises:
        InputError: it cannot be built: a run would be of errors alone
    """
    length = trial.short if length is None else length
    request = trial.requests(trial.cell(length, trial.places[0]), 0, 1)[0]
    try:
        return sampler.build(request)
    except InputError as error:
        message = f"{trial.task} cannot be asked at {length} tokens, so that nothing is run: {error}"
        raise InputError(message) from error


def _check_fillers(sampler: Sampler, trials: Sequence[Trial]) -> None:
    """Build one prompt of the longest length with each filler that has an end: where that is reached, a model that was
    never asked would be refuted.

    What is longer than the declared limit is not built: it is never sent.
    """
    material, limit = sampler.material, sampler.kitchen.backend.limit
    longest: dict[tuple[str, str], tuple[int, Trial]] = {}
    for trial in trials:
        sent = [length for length in every(trial) if limit is None or length + trial.reserve <= limit]
        if trial.measure in ("answer", "margin") and material.filler(trial.filler).blocks is not None and sent:
            key = (trial.filler, trial.mode)
            longest[key] = max(longest.get(key, (0, trial)), (sent[-1], trial), key=lambda one: one[0])
    for length, trial in longest.values():
        _first(sampler, trial, length)
