"""From a run's folder to its card."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from ordinate.errors import InputError
from ordinate.prove.statistics import wilson
from ordinate.validate.cells import Sample
from ordinate.validate.claims import MARGIN, STABILITY, Card, Claim, Failure, Figure, Row
from ordinate.validate.compatibility import figures
from ordinate.validate.store import Manifest, read_manifest, read_samples
from ordinate.validate.trials import Trial
from ordinate.validate.uses import Tally, claims, subjects, tally, undecided, verdicts
from ordinate.validate.uses.bounds import bounds
from ordinate.validate.uses.means import effects, losses
from ordinate.validate.uses.perplexities import perplexities
from ordinate.validate.uses.statements import ability
from ordinate.validate.uses.tallies import every, right

SHOWN = 5
"""Failures of each kind that a card lists."""

LONGEST = 200
"""Characters of a response that a card keeps."""

CLAIMS = "claims.json"
"""Claims of other levels in a run's folder: a list, each as a card has it."""

TABLES = ("card.json", "card.md", "report.html")


def card_of(folder: Path) -> Card:
    """The card of a run, from what its folder holds so far.

    Raises:
        InputError: the folder is no run, or is damaged
    """
    return make(read_manifest(folder), read_samples(folder), read_claims(folder))


def read_claims(folder: Path) -> tuple[Claim, ...]:
    """The claims of other levels that a run's folder holds; none where it holds none."""
    file = folder / CLAIMS
    if not file.exists():
        return ()
    try:
        return msgspec.json.decode(file.read_bytes(), type=tuple[Claim, ...])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise InputError(f"{file} is damaged: {error}") from error


def make(manifest: Manifest, samples: Sequence[Sample], more: Iterable[Claim] = ()) -> Card:
    """The card of samples.

    Args:
        manifest: what determines the run
        samples: in any order
        more: claims of other levels
    """
    found, rows, complete, silent = list(more), [], True, []
    asked = bool(samples) or "L3" in manifest.opening.get("levels", ("L3",))
    losses_as_papers: list[Figure] = []
    for trial, subject in zip(manifest.trials, subjects(manifest.trials), strict=True):
        sampled = tally(trial, samples)
        found += claims(trial, sampled, subject)
        rows += rows_of(trial, sampled, subject)
        losses_as_papers += perplexities(trial, sampled, subject)
        if trial.measure == "answer" and _silent(sampled):
            silent.append(subject)
        complete = complete and not (asked and undecided(trial, sampled, search=manifest.search))
    found = _aside(found)
    planned = {cell for trial in manifest.trials for cell in trial.cells}
    own = sorted((s for s in samples if s.cell in planned), key=lambda s: (s.cell.task, s.cell.length, s.key))
    facts: dict[str, Any] = {**manifest.subject, "seed": manifest.seed, "search": manifest.search, "complete": complete}
    return Card(
        model=facts,
        suite=manifest.suite,
        claims=tuple(found),
        rows=tuple(rows),
        outcomes=_outcomes(own),
        controls=_outcomes(sample for sample in own if sample.cell.control),
        failures=tuple(_failures(own)),
        compatibility=(*figures(rows), *losses_as_papers),
        caveats=_caveats(manifest, found, complete, silent),
    )


def rows_of(trial: Trial, sampled: Tally, subject: str) -> list[Row]:
    """Every cell of a trial that has units."""
    judged: Mapping[tuple[int, str], Any] = verdicts(trial, sampled)
    found = []
    for length in every(trial):
        for place in trial.places:
            units = sampled.units(length, place)
            if not units:
                continue
            verdict = "" if length == trial.short else judged[length, place].verdict
            if trial.measure == "answer":
                good = sum(right(unit) for unit in units.values())
                value, (low, high) = good / len(units), wilson(good, len(units))
            else:
                value, low, high = _mean(trial, sampled, length, place)
            about = (subject, ability(trial), trial.measure, length, place, len(units))
            found.append(Row(*about, value, low, high, verdict))
    return found


def _mean(trial: Trial, sampled: Tally, length: int, place: str) -> tuple[float, float, float]:
    if trial.measure == "language":
        known = losses(sampled, length, place).values()
        values, clusters = [loss for loss, _ in known], [text for _, text in known]
    else:
        values, clusters = effects(trial, sampled, length, place)
    if not len(values):
        return 0.0, 0.0, 0.0
    found = bounds(values, clusters)
    if found is None:
        mean = float(sum(values) / len(values))
        return mean, mean, mean
    return found.mean, found.low, found.high


def _outcomes(samples: Iterable[Sample]) -> dict[str, int]:
    return dict(sorted(Counter(sample.outcome or "measured" for sample in samples).items()))


def _failures(samples: Iterable[Sample]) -> Iterable[Failure]:
    seen: Counter[str] = Counter()
    for sample in samples:
        outcome = sample.outcome
        if outcome == "unparsed" and sample.cell.control:  # without its evidence a question has no answer to be read
            continue
        if outcome in ("refused", "unparsed", "error") and seen[outcome] < SHOWN:
            seen[outcome] += 1
            cell = sample.cell
            texts = (sample.response[:LONGEST], sample.why[:LONGEST])
            yield Failure(outcome, cell.task, cell.length, cell.places, sample.index, *texts)


def _aside(found: Sequence[Claim]) -> list[Claim]:
    """The claims, those of an effect of evidence with what is known of the task itself at that length."""
    tasks = {(one.subject, one.length): one for one in found if one.level == "L3" and "chance" in one.evidence}

    def told(one: Claim) -> Claim:
        task = tasks.get((one.subject, one.length)) if one.ability == MARGIN else None
        if task is None or task.verdict == "supported":
            return one
        return replace(one, caveats=(*one.caveats, f"the task itself is {task.verdict} at this length"))

    return list(map(told, found))


def _silent(sampled: Tally) -> bool:
    """Whether samples were taken, and none of them is an answer."""
    ended = {sample.outcome for units in sampled.cells.values() for unit in units.values() for sample in unit}
    return bool(ended) and ended <= {"refused", "error"}


def _caveats(manifest: Manifest, found: Sequence[Claim], complete: bool, silent: Sequence[str]) -> tuple[str, ...]:
    said = list(manifest.notes)
    if not complete:
        said.append("the run is not complete: what is inconclusive may be decided by going on with it")
    if manifest.shard is not None:
        said.append(f"this is part {manifest.shard[0]} of {manifest.shard[1]} of a run: merge the parts before judging")
    about = {(claim.subject, claim.ability): claim.verdict for claim in found if claim.level == "L3"}
    if silent:
        said.append(
            f"no answer that counts: {', '.join(silent)}; each request was refused or ended in an error, so that "
            "nothing is known of what the model can do"
        )
    floor = [
        name
        for (name, what), verdict in about.items()
        if verdict == "not applicable" and what not in (STABILITY, MARGIN) and name not in silent
    ]
    if floor:
        said.append(
            f"at their floor and so not measured: {', '.join(dict.fromkeys(floor))}; a small model fails these tasks "
            "at any length, which says nothing of its window"
        )
    fillers = sorted({trial.filler.split(":")[0] for trial in manifest.trials if trial.filler})
    if "prose" in fillers or "novels" in fillers:
        said.append(
            "prose is of novels in the public domain, which models have read in training: evidence stands out from it, "
            "and losses on it compare lengths and runs of one model, not models"
        )
    if fillers and "records" not in fillers:
        said.append(
            f"filler: {', '.join(fillers)}; with the filler records, where every sentence is a decoy, tasks are harder"
        )
    return tuple(said)
