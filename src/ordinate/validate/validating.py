"""`ordinate validate` as functions: plan a run, take its samples, and judge them."""

import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from ordinate.errors import InputError, one_of
from ordinate.validate.backends import Backend
from ordinate.validate.cards import CLAIMS, read_claims
from ordinate.validate.claims import Claim
from ordinate.validate.cluster import Cluster
from ordinate.validate.estimate import Estimate, cost, estimate
from ordinate.validate.fillers import find
from ordinate.validate.fillers import named as named_filler
from ordinate.validate.levels import measure_levels
from ordinate.validate.opening import Opening
from ordinate.validate.running import Course, Limits, Report, run
from ordinate.validate.sampling import Material, Sampler
from ordinate.validate.statistics import Verdict
from ordinate.validate.store import Manifest, RunFolder, read_manifest
from ordinate.validate.store.folder import open_run
from ordinate.validate.suites import Scope
from ordinate.validate.suites import find as find_suite
from ordinate.validate.trials import Trial
from ordinate.validate.uses.lengths import by_length
from ordinate.validate.uses.tallies import every, tally

FILLER_FILE, LEVELS = "filler_file", "levels"
"""What a manifest's `opening` holds beside an `Opening`."""

OTHERS = ("L1", "L2", "P")
"""Levels that need no tasks."""

LEVEL_SECONDS = 1800.0
"""For these together, [s]."""


@dataclass(frozen=True)
class Asked:
    """What a user asks for.

    Args:
        suite: its name
        lengths: the first is the short one, [token]; empty: a grid
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

    def __post_init__(self) -> None:
        if self.lengths and self.to is not None:
            raise InputError("lengths are given, or where they end, not both")
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
        InputError: what is asked for cannot be
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
    return Ready(manifest, sampler, estimate(plan.trials, rate=rate, shard=asked.shard))


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
    return Ready(manifest, sampler, estimate(manifest.trials, shard=manifest.shard))


def opening_of(folder: Path) -> Opening:
    """How a run's backend was opened.

    Raises:
        InputError: the folder is no run
    """
    settings = dict(read_manifest(folder).opening)
    levels = settings.get(LEVELS, [])
    if not isinstance(levels, list) or any(level not in (*OTHERS, "L3") for level in levels):
        raise InputError(f"{folder} asks for levels that there are not: {levels!r}")
    for name in (FILLER_FILE, LEVELS):
        settings.pop(name, None)
    try:
        return msgspec.convert(settings, Opening)
    except msgspec.ValidationError as error:
        raise InputError(f"{folder} does not say how to open what answers: {error}") from error


def validate(
    ready: Ready,
    out: Path,
    *,
    limits: Limits | None = None,
    progress: Report | None = None,
    cluster: Cluster | None = None,
) -> tuple[Course, "Judged"]:
    """Take the samples of a run, or go on with it, measure the other levels once, and judge all.

    Args:
        ready: of `prepare` or `resume`
        out: the run folder
        limits: where it ends early
        progress: told how far it is
        cluster: whose workers answer, and whose backend it was prepared with; None: this process

    Raises:
        InputError: the folder holds another run, or something else
        Unavailable: another process has it open
    """
    limits = limits or Limits()
    with open_run(out, ready.manifest) as folder:
        claims = _levels(ready, folder, limits, progress, cluster)
        course = Course("complete")
        if "L3" in ready.manifest.opening.get(LEVELS, ("L3",)):
            executor = None if cluster is None else cluster.executor(ready.sampler)
            course = run(ready.sampler, folder, limits=limits, progress=progress, executor=executor)
        return course, judge(folder, claims)


def _levels(
    ready: Ready, folder: RunFolder, limits: Limits, progress: Report | None, cluster: Cluster | None
) -> tuple[Claim, ...]:
    """The claims of levels that need no tasks: those in the folder, and those that it lacks, which are added."""
    found = read_claims(folder.path)
    levels = [level for level in ready.manifest.opening.get(LEVELS, ()) if level in OTHERS]
    missing = [level for level in levels if level not in {claim.level for claim in found}]
    if not missing:
        return found
    lengths = sorted({length for trial in ready.manifest.trials for length in every(trial)})
    mode = "base" if ready.manifest.trials[0].mode == "base" else "chat"
    seconds = LEVEL_SECONDS if limits.seconds is None else min(LEVEL_SECONDS, limits.seconds)
    backend, seed = ready.sampler.kitchen.backend, ready.manifest.seed
    if cluster is not None:
        found += cluster.measure_levels(lengths, missing, mode=mode, seed=seed, seconds=seconds)
    else:
        found += measure_levels(backend, lengths, missing, mode=mode, seed=seed, seconds=seconds, progress=progress)
    folder.write(CLAIMS, msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n")
    return found


@dataclass(frozen=True)
class Judged:
    """The verdict of every length of every trial; a shard alone has none.

    Args:
        verdicts: trial by trial
        state: "supported": of all that is above its floor every length is, and so is every claim of another level that
            applies; "refuted": one of these is; "open": neither
    """

    verdicts: tuple[tuple[Trial, Mapping[int, Verdict]], ...]
    state: Literal["supported", "refuted", "open"]


def judge(folder: RunFolder, claims: Sequence[Claim] = ()) -> Judged:
    """What a run's samples say, and claims of other levels."""
    found, counted, uses = [], set(), set()
    for trial in folder.manifest.trials:
        sampled = tally(trial, folder.samples.values())
        lengths = by_length(trial, sampled)
        if folder.manifest.search:  # what the search left out was not asked
            lengths = {
                length: verdict
                for length, verdict in lengths.items()
                if any(sampled.units(length, place) for place in trial.places)
            }
        found.append((trial, lengths))
        # a margin says something of a task beside how far it reaches
        if trial.measure != "margin" and "L3" in folder.manifest.opening.get(LEVELS, ("L3",)):
            uses.update(lengths.values())
    counted |= uses
    # what is about no length and not about positions is told, and decides nothing
    counted.update(claim.verdict for claim in claims if claim.length is not None or claim.level == "P")
    if "refuted" in counted:
        return Judged(tuple(found), "refuted")
    # where every task is at its floor nothing is proved of what is used, whatever the other levels say
    proved = not uses or "supported" in uses
    supported = proved and "supported" in counted and counted <= {"supported", "not applicable"}
    return Judged(tuple(found), "supported" if supported else "open")


def name_of(manifest: Manifest, opening: Opening) -> str:
    """A folder's name that is always the same for the same run."""
    determined = replace(manifest, opening={}, notes=())
    shown = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(opening.named).name).strip("-.")
    number = hashlib.sha256(determined.encode()).hexdigest()[:8]
    return f"validate-{manifest.suite}-{shown}-{number}"


def _measured(sampler: Sampler, trials: Sequence[Trial]) -> tuple[Sampler, float | None]:
    """The sampler that knows what a template adds, and tokens in a second, both by one prompt of a short length."""
    trial = min(trials, key=lambda trial: (trial.measure != "answer", trial.short))
    request = trial.requests(trial.cell(trial.short, trial.places[0]), 0, 1)[0]
    ask = sampler.prepare(request)
    began = time.monotonic()
    sample = ask()
    rate = cost(request.cell) / max(time.monotonic() - began, 1e-6)
    if not sample.prompt or sample.outcome == "refused":  # nothing was read: a run will say so of each
        return sampler, None
    if sample.counted is None or trial.mode == "base":
        return sampler, rate
    return Sampler(sampler.kitchen.backend, sampler.material, added=sample.counted - trial.short), rate
