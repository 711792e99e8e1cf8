"""Two runs of the same instances, before and after a change: what was lost at short context, and what was gained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from ordinate.errors import InputError
from ordinate.schema import beginning
from ordinate.validate.cards import rows_of
from ordinate.validate.cells import Sample
from ordinate.validate.claims import Claim, Row
from ordinate.validate.statistics import Pairs, Verdict, equivalent, instances_needed
from ordinate.validate.store import Manifest, read_manifest, read_samples
from ordinate.validate.trials import Trial
from ordinate.validate.uses import Tally, by_length, reached, subjects, tally
from ordinate.validate.uses.answers import pairs
from ordinate.validate.uses.bounds import bounds
from ordinate.validate.uses.means import REAL, losses
from ordinate.validate.uses.statements import ability
from ordinate.validate.uses.tallies import right

ACCURACY = 0.01
"""Shares closer than this count as equal."""

NLL = 0.005
"""Losses closer than this count as equal, as a share of the loss before."""

DISCORDANT = 0.02
"""The share of units that changes between two good models, assumed where the n is said before a run."""


@dataclass(frozen=True)
class Flip:
    """A unit that is right on one side alone."""

    subject: str
    length: int
    places: str
    unit: int
    became: Literal["right", "wrong"]
    before: str
    after: str


@dataclass(frozen=True)
class Extension:
    """One task before and after.

    Args:
        subject, ability: as in the claims
        verdicts: by length, [token]; None where it was not tested
        effective: the longest length supported with all shorter ones, [token]
        before, after: every length and place with its score and interval, as a card has them
    """

    subject: str
    ability: str
    verdicts: tuple[tuple[int, Verdict | None, Verdict | None], ...]
    effective: tuple[int | None, int | None]
    before: tuple[Row, ...] = ()
    after: tuple[Row, ...] = ()

    def scores(self) -> list[tuple[int, str, Row | None, Row | None]]:
        """Each length and place, with its row before and after; None where it was not tested."""
        was, now = ({(row.length, row.places): row for row in rows} for rows in (self.before, self.after))
        cells = sorted({**was, **now}, key=lambda cell: cell[0])
        return [(*cell, was.get(cell), now.get(cell)) for cell in cells]


@dataclass(frozen=True)
class Difference:
    """Two runs compared.

    Args:
        before, after: what answered
        claims: of level R, one for each task at its short length
        extension: verdicts side by side
        flips: of the short lengths
        apart: facts in which the runs differ and may, in words
    """

    before: Mapping[str, str]
    after: Mapping[str, str]
    claims: tuple[Claim, ...]
    extension: tuple[Extension, ...]
    flips: tuple[Flip, ...]
    apart: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**beginning("validate-diff"), **msgspec.to_builtins(self)}

    @property
    def regressed(self) -> bool:
        """Whether a loss is proved."""
        return any(claim.verdict == "refuted" for claim in self.claims)


def needed() -> Mapping[str, int]:
    """How many units each margin needs, to be said before a run.

    accuracy: for a margin of 1 point where 2 % of the units change; nll: for 0.5 % where the paired difference spreads
    by 1 % of the loss from target to target
    """
    accuracy = instances_needed(margin=ACCURACY, discordant=DISCORDANT)
    # The same formula with a variance in place of the discordant share, both in shares of the loss.
    return {"accuracy": accuracy, "nll": instances_needed(margin=NLL, discordant=0.01**2)}


def compare(before: Path, after: Path) -> Difference:
    """Compare two run folders.

    Raises:
        InputError: a folder is no run, or the runs differ in tasks, seeds or tokenizers; the message names what
    """
    first, second = read_manifest(before), read_manifest(after)
    return difference(first, read_samples(before), second, read_samples(after))


def difference(first: Manifest, one: Sequence[Sample], second: Manifest, two: Sequence[Sample]) -> Difference:
    """Compare two runs; samples are paired by cell, seed and index.

    R is supported where both one-sided tests reject a difference of the margin, in every place; refuted where a loss
    greater than the margin is proved; else inconclusive, with the n that it would need.
    """
    matched, skipped = _matched(first, second)
    found, extension, flips = [], [], []
    names = subjects([trial for trial, _ in matched])
    for (trial, other), subject in zip(matched, names, strict=True):
        was, now = tally(trial, one), tally(other, two)
        extension.append(_extension(trial, was, other, now, subject))
        if trial.measure == "answer":
            claim, changed = _answers(trial, was, now, subject)
            found.append(claim)
            flips += changed
        elif trial.measure == "language":
            found.append(_losses(trial, was, now, subject))
    keys = sorted({*first.subject, *second.subject})
    apart = [key for key in keys if first.subject.get(key) != second.subject.get(key)]
    facts = (f"{key}: {first.subject.get(key)} and {second.subject.get(key)}" for key in apart)
    return Difference(first.subject, second.subject, tuple(found), tuple(extension), tuple(flips), (*facts, *skipped))


def _matched(first: Manifest, second: Manifest) -> tuple[list[tuple[Trial, Trial]], list[str]]:
    """Trials of the same instances, whose longer lengths may differ and nothing else; and which are left out, and why.

    The targets of language modelling are placed by the longest length, so that they are not the same where it differs.
    """
    reasons = [
        f"{name}: {a} and {b}"
        for name, a, b in (
            ("seed", first.seed, second.seed),
            ("tokenizer", first.subject.get("tokenizer"), second.subject.get("tokenizer")),
            ("shard", first.shard, second.shard),
        )
        if a != b
    ]

    def key(trial: Trial) -> tuple[Any, ...]:
        level = tuple(pair for pair in trial.difficulty if trial.measure != "language" or pair[0] != "longest")
        return (trial.measure, trial.task, level)

    skipped: list[str] = []
    mine, theirs = ({key(trial): trial for trial in manifest.trials} for manifest in (first, second))
    for name in sorted({*mine, *theirs}, key=str):
        called = f"{name[1]} ({name[0]})"
        if name not in mine or name not in theirs:
            reasons.append(f"tasks: {called} is in one run alone")
            continue
        if mine[name].measure == "language" and mine[name].difficulty != theirs[name].difficulty:
            skipped.append(f"{called} is not compared: its targets follow from the longest length, which differs")
            del theirs[name]
            continue
        for field_name in ("short", "places", "filler", "mode", "seed", "reserve", "difficulty"):
            a, b = getattr(mine[name], field_name), getattr(theirs[name], field_name)
            if a != b:
                reasons.append(f"{field_name} of {called}: {_said(a)} and {_said(b)}")
    if reasons:
        raise InputError(f"the runs cannot be compared, they differ in {'; '.join(reasons)}")
    return [(trial, theirs[name]) for name, trial in mine.items() if name in theirs], skipped


def _said(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _answers(trial: Trial, was: Tally, now: Tally, subject: str) -> tuple[Claim, list[Flip]]:
    verdicts: list[Verdict] = []
    evidence: dict[str, Any] = {}
    flips = []
    for place in trial.places:
        before, after = was.units(trial.short, place), now.units(trial.short, place)
        both = sorted(before.keys() & after.keys())
        if not both:
            verdicts.append("inconclusive")
            continue
        a, b = (np.array([right(units[unit]) for unit in both]) for units in (before, after))
        table = pairs(a, b)
        found = equivalent(table, margin=ACCURACY)
        sure = equivalent(table, margin=ACCURACY, level=1 - 0.05 / len(trial.places))  # one place is enough to refute
        verdicts.append("supported" if found.equivalent else "refuted" if sure.high < -ACCURACY else "inconclusive")
        share = max(1, table.lost + table.gained) / table.instances
        evidence[place] = {
            "before": table.short,
            "after": table.long,
            "difference": found.difference,
            "low": found.low,
            "high": found.high,
            "units": table.instances,
            "units_needed": _needed(table, share),
            "lost": table.lost,
            "gained": table.gained,
        }
        for unit, x, y in zip(both, a, b, strict=True):
            if x != y:
                said = (_response(before[unit]), _response(after[unit]))
                flips.append(Flip(subject, trial.short, place, unit, "right" if y else "wrong", *said))
    verdict = _worst(verdicts)
    whole = {"margin": ACCURACY, "units_planned": needed()["accuracy"], "places": evidence}
    return Claim("R", subject, ability(trial), trial.short, verdict, whole, _why(verdict, evidence)), flips


def _needed(table: Pairs, share: float) -> int:
    """The n at which this margin is proved, by how much changes; where nothing does, the least n of equal answers."""
    if table.lost + table.gained:
        return instances_needed(margin=ACCURACY, discordant=min(1.0, share))
    low, high = table.instances, 10**6
    if equivalent(Pairs(low, 0, 0, 0), margin=ACCURACY).equivalent:
        return low
    while high - low > 1:  # the least n of nothing but equal answers
        middle = (low + high) // 2
        low, high = (low, middle) if equivalent(Pairs(middle, 0, 0, 0), margin=ACCURACY).equivalent else (middle, high)
    return high


def _why(verdict: Verdict, evidence: Mapping[str, Mapping[str, Any]]) -> str:
    if not evidence:
        return "no unit was sampled in both runs"
    worst = min(evidence, key=lambda place: evidence[place]["difference"])
    numbers = evidence[worst]
    said = (
        f"{numbers['before']:.1%} before and {numbers['after']:.1%} after on {numbers['units']} units with evidence at "
        f"{worst!r}: {numbers['difference']:+.1%} [{numbers['low']:+.1%}, {numbers['high']:+.1%}]"
    )
    if verdict == "inconclusive":
        most = max(numbers["units_needed"] for numbers in evidence.values())
        return f"{said}; a margin of {ACCURACY:.0%} needs about {most:,} units"
    return f"{said}; margin {ACCURACY:.0%}"


def _losses(trial: Trial, was: Tally, now: Tally, subject: str) -> Claim:
    place = REAL if REAL in trial.places else trial.places[0]
    before, after = losses(was, trial.short, place), losses(now, trial.short, place)
    both = sorted(before.keys() & after.keys())
    values = np.array([after[unit][0] - before[unit][0] for unit in both])
    # 5 % on either side: two one-sided tests.
    found = bounds(values, [before[unit][1] for unit in both]) if both else None
    if found is None:
        return Claim("R", subject, ability(trial), trial.short, "inconclusive", {}, "too few texts in both runs")
    base = float(np.mean([before[unit][0] for unit in both]))
    margin = NLL * base
    verdict: Verdict = "inconclusive"
    if -margin < found.least and found.most < margin:
        verdict = "supported"
    elif found.least > margin:
        verdict = "refuted"
    spread = float(values.std(ddof=1)) / base if len(values) > 1 else 0.0
    wanted = instances_needed(margin=NLL, discordant=max(min(spread**2, 1.0), 1e-9))
    evidence = {
        "margin": NLL,
        "before": base,
        "after": base + found.mean,
        "difference": found.mean,
        "least": found.least,
        "most": found.most,
        "texts": found.clusters,
        "units": len(both),
        "units_needed": wanted,
        "units_planned": needed()["nll"],
    }
    change = f"{found.mean / base:+.2%} [{found.least / base:+.2%}, {found.most / base:+.2%}]"
    said = f"loss {base:.3f} before, {base + found.mean:.3f} after on {len(both)} targets: {change}; margin {NLL:.1%}"
    if verdict == "inconclusive" and wanted > len(both):
        said += f", which needs about {wanted:,} targets"
    return Claim("R", subject, ability(trial), trial.short, verdict, evidence, said)


def _worst(verdicts: Sequence[Verdict]) -> Verdict:
    for verdict in ("refuted", "inconclusive"):
        if verdict in verdicts:
            return verdict
    return "supported" if verdicts else "inconclusive"


def _extension(trial: Trial, was: Tally, other: Trial, now: Tally, subject: str) -> Extension:
    sides = []
    for side, sampled in ((trial, was), (other, now)):
        found = by_length(side, sampled)
        sides.append({n: v for n, v in found.items() if any(sampled.units(n, place) for place in side.places)})
    lengths = sorted({*sides[0], *sides[1]})
    rows = tuple((length, sides[0].get(length), sides[1].get(length)) for length in lengths)
    effective = (reached(trial, was), reached(other, now))
    scores = (tuple(rows_of(trial, was, subject)), tuple(rows_of(other, now, subject)))
    return Extension(subject, ability(trial), rows, effective, *scores)


def _response(unit: Sequence[Sample]) -> str:
    return " | ".join(sample.response[:80] for sample in unit)
