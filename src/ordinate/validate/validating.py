"""`ordinate validate` as functions: take the samples of a run that was prepared, and judge them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from ordinate.errors import InputError, positive_integer
from ordinate.validate.cards import CLAIMS, read_claims
from ordinate.validate.claims import Claim
from ordinate.validate.cluster import Cluster
from ordinate.validate.levels import measure_levels
from ordinate.validate.preparing import LEVEL_SECONDS, LEVELS, MEMORY, OTHERS, Ready, lengths_of, level_mode
from ordinate.validate.running import Course, Limits, Report, run
from ordinate.validate.statistics import Verdict
from ordinate.validate.store import RunFolder
from ordinate.validate.store.folder import open_run
from ordinate.validate.trials import Trial
from ordinate.validate.uses.lengths import by_length
from ordinate.validate.uses.tallies import tally


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
        InputError: the folder holds another run, or something else, or memory is bounded on a cluster
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
    lengths, mode = lengths_of(ready.manifest), level_mode(ready.manifest)
    seconds = LEVEL_SECONDS if limits.seconds is None else min(LEVEL_SECONDS, limits.seconds)
    backend, seed = ready.sampler.kitchen.backend, ready.manifest.seed
    memory = ready.manifest.opening.get(MEMORY)
    memory = None if memory is None else positive_integer("memory", memory)
    if cluster is not None:
        if memory is not None:
            raise InputError("memory bounds a process of this machine, and a cluster's workers run elsewhere")
        found += cluster.measure_levels(lengths, missing, mode=mode, seed=seed, seconds=seconds)
    else:
        found += measure_levels(
            backend, lengths, missing, mode=mode, memory=memory, seed=seed, seconds=seconds, progress=progress
        )
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
