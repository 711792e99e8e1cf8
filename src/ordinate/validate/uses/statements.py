"""What is claimed of one trial: a claim a length, with its evidence in words and numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

from ordinate.prove.statistics import wilson
from ordinate.validate.claims import MARGIN, Claim
from ordinate.validate.statistics.floor import MARGIN as ABOVE_CHANCE
from ordinate.validate.statistics.retention import RETAINED
from ordinate.validate.trials import Trial
from ordinate.validate.uses import answers, means
from ordinate.validate.uses.answers import Kept
from ordinate.validate.uses.language import language_claims
from ordinate.validate.uses.lengths import of_length
from ordinate.validate.uses.means import Measured
from ordinate.validate.uses.placing import stability_claims
from ordinate.validate.uses.tallies import Tally, every, right, unanswered_why

WITHOUT_EVIDENCE = ("no_context", "evidence_removed")
UNREAD = 0.1
"""A share of answers that could not be read, above which a claim says so."""


def ability(trial: Trial) -> str:
    """What a trial's claims are about, in words."""
    measured = {"margin": MARGIN, "copy": "copying", "language": "language modelling"}
    return measured.get(trial.measure) or " + ".join(trial.abilities)


def subjects(trials: Sequence[Trial]) -> tuple[str, ...]:
    """A name for each trial, with what tells it from others of the same task."""

    def called(trial: Trial) -> str:
        return ", ".join([trial.task, *(f"{name} {value}" for name, value in trial.difficulty)])

    found = [called(trial) for trial in trials]
    for extra in ("filler", "mode", "short", "seed"):
        for i, (name, trial) in enumerate(zip(tuple(found), trials, strict=True)):
            same = [t for n, t in zip(found, trials, strict=True) if n == name and t.measure == trial.measure]
            if len({getattr(other, extra) for other in same}) > 1:
                found[i] = f"{name}, {extra} {getattr(trial, extra)}"
    return tuple(found)


def claims(trial: Trial, tally: Tally, subject: str = "") -> tuple[Claim, ...]:
    """Every claim of one trial: of each length that was tested, then of stability.

    Args:
        trial: what was asked
        tally: what was sampled
        subject: what the claims call it
    """
    subject = subject or subjects([trial])[0]
    tested = [n for n in every(trial) if any(tally.units(n, place) for place in trial.places)]
    if trial.measure == "language":
        return language_claims(trial, tally, subject, ability(trial), tested)
    about = _answered if trial.measure == "answer" else _measured
    found = tuple(about(trial, tally, length, subject) for length in tested)
    return found + (stability_claims(trial, tally, subject, tested) if trial.measure == "answer" else ())


def share(right: int, units: int) -> dict[str, Any]:
    """A share with Wilson's interval at 95 %, as JSON has it."""
    low, high = wilson(right, units) if units else (0.0, 1.0)
    value = right / units if units else None
    return {"right": right, "units": units, "share": value, "low": low, "high": high}


def counted(tally: Tally, length: int, places: str, control: str = "") -> dict[str, Any]:
    """The share of right units of a cell."""
    units = tally.units(length, places, control)
    return share(sum(right(unit) for unit in units.values()), len(units))


def _answered(trial: Trial, tally: Tally, length: int, subject: str) -> Claim:
    found = {place: answers.kept(trial, tally, length, place) for place in trial.places}
    verdict = of_length(one.verdict for one in found.values())
    evidence: dict[str, Any] = {
        "chance": answers.chance(trial),
        "retained_asked": RETAINED,
        "short_length": trial.short,
        "places": {place: _place(trial, tally, length, place, one) for place, one in found.items()},
    }
    controls = {name: counted(tally, trial.short, trial.places[0], name) for name in trial.controls}
    controls = {name: value for name, value in controls.items() if value["units"]}
    if controls:
        evidence["controls"] = controls
    caveats = _caveats(trial, tally, length, found, controls)
    return Claim(
        "L3", subject, ability(trial), length, verdict, evidence, _why(trial, tally, length, found, evidence), caveats
    )


def _place(trial: Trial, tally: Tally, length: int, place: str, one: Kept) -> dict[str, Any]:
    found = {"verdict": one.verdict, "short": counted(tally, trial.short, place), **counted(tally, length, place)}
    if one.retention is not None:
        look = one.retention.instances
        base, at = (one.against or place, trial.short if one.against else length)
        found |= {
            "compared": [int(tally.right(n, p, look).sum()) for n, p in ((trial.short, base), (at, place))],
            "retained": one.retention.share,
            "score": one.retention.score,
            "supported_at": one.retention.supported_at,
            "refuted_at": one.retention.refuted_at,
            "look": look,
        }
    return found


def _why(trial: Trial, tally: Tally, length: int, found: Mapping[str, Kept], evidence: Mapping[str, Any]) -> str:
    verdict = of_length(one.verdict for one in found.values())
    place = next(name for name, one in found.items() if one.verdict == verdict)
    if verdict == "supported":
        place = min(found, key=lambda name: evidence["places"][name]["share"] or 0.0)
    numbers = evidence["places"][place]
    where, short = _where(trial, place), numbers["short"]
    before = f"{short['right']} of {short['units']} at {trial.short:,} tokens"
    here = f"{numbers['right']} of {numbers['units']} right{where}, against {before}"
    if "compared" in numbers:  # the first units of both, as many as were there at the look that decided
        (was, now), look = numbers["compared"], numbers["look"]
        here = f"{now} of {look} right{where}, against {was} of {look} at {trial.short:,} tokens"
    if verdict == "not applicable":
        need = f"chance ({evidence['chance']:.2f}) + {ABOVE_CHANCE:.2f}"
        return f"at its floor: {before.replace(' at', ' right at', 1)}{where}, not proved to be above {need}"
    if found[place].against:
        (was, now), look = numbers["compared"], numbers["look"]
        already = f"already {now} of {look} right at {trial.short:,} tokens{where}"
        return f"{already}, against {was} of {look} at {found[place].against!r}"
    if found[place].gate.state == "failed":
        return unanswered_why(tally, trial.short, place) + where
    if length == trial.short:
        done = verdict == "supported"
        return f"the short baseline: {short['right']} of {short['units']} right{where}" + (
            "" if done else ": too few to say whether it is above its floor"
        )
    if verdict == "supported":
        return f"keeps at least {RETAINED:.0%} of its short score{' in every place' * (len(found) > 1)}: {here}"
    if verdict == "refuted":
        return f"keeps less than {RETAINED:.0%} of its short score: {here}"
    return f"neither is proved: {here}" if numbers["units"] else f"not sampled in full{where}"


def _where(trial: Trial, place: str) -> str:
    return f" with evidence at {place!r}" if len(trial.places) > 1 else ""


def _caveats(
    trial: Trial, tally: Tally, length: int, found: Mapping[str, Kept], controls: Mapping[str, Any]
) -> tuple[str, ...]:
    said = []
    ceiling = [one.gate.floor for one in found.values() if one.gate.floor is not None and one.gate.floor.at_ceiling]
    if ceiling and length == trial.short and all(one.gate.state == "open" for one in found.values()):
        said.append("the short score is at its ceiling: small losses do not show, harder decoys would tell more")
    for name in WITHOUT_EVIDENCE:
        control = controls.get(name)
        if control and control["low"] > answers.chance(trial) + ABOVE_CHANCE:
            said.append(f"answered without its evidence ({name}): {control['right']} of {control['units']} right")
    samples = [s for place in trial.places for unit in tally.units(length, place).values() for s in unit]
    unread = sum(sample.outcome == "unparsed" for sample in samples)
    if samples and unread / len(samples) > UNREAD:
        said.append(f"{unread} of {len(samples)} answers could not be read, which counts as wrong")
    lost = sum(sample.outcome in ("refused", "error") for sample in samples)
    if lost:
        said.append(f"{lost} of {len(samples)} requests were refused or ended in an error, which counts as wrong")
    # A template of the engine's own adds the same to every prompt; what was cut, or is not counted alike, differs.
    apart = {sample.counted - length for sample in samples if sample.counted is not None}
    if len(apart) > 1 or (apart and min(apart) < 0):
        said.append(f"the engine counted {min(apart):+d} to {max(apart):+d} prompt tokens beside {length:,}")
    return tuple(said)


def _measured(trial: Trial, tally: Tally, length: int, subject: str) -> Claim:
    found = {place: means.measured(trial, tally, length, place) for place in trial.places}
    verdict = of_length(one.verdict for one in found.values())
    evidence = {
        "short_length": trial.short,
        "places": {place: _numbers(trial, tally, length, place, one) for place, one in found.items()},
    }
    place = next(name for name, one in found.items() if one.verdict == verdict)
    numbers, where = evidence["places"][place], _where(trial, place)
    said = "too few samples" if numbers["mean"] is None else f"{numbers['mean']:+.2f} nat" + where
    if trial.measure == "margin":
        words = {
            "supported": "swapped evidence moves the answer, which is less than answering rightly: the margin is",
            "refuted": "swapped evidence moves the answer the wrong way: the margin is",
            "inconclusive": "it is not proved that swapped evidence moves the answer: the margin is",
            "not applicable": "at the short length swapped evidence is not proved to move the answer: the margin is",
        }
    else:
        words = {
            "supported": f"keeps at least {RETAINED:.0%} of the gain that a second copy has at {trial.short:,} tokens:",
            "refuted": f"keeps less than {RETAINED:.0%} of the gain that a second copy has at {trial.short:,} tokens:",
            "inconclusive": "neither is proved of the gain of a second copy:",
            "not applicable": f"at {trial.short:,} tokens a second copy is not proved to gain {means.GAIN_FLOOR} nat:",
        }
        if length == trial.short and verdict == "supported":
            words["supported"] = "the short baseline: a second copy gains"
    if found[place].gate.state == "failed":
        why = unanswered_why(tally, trial.short, place) + where
        return Claim("L3", subject, ability(trial), length, verdict, evidence, why)
    failed = sum(one.failed for one in found.values())
    caveats = (f"{failed} samples failed and count as no effect",) if failed else ()
    return Claim("L3", subject, ability(trial), length, verdict, evidence, f"{words[verdict]} {said}", caveats)


def _numbers(trial: Trial, tally: Tally, length: int, place: str, one: Measured) -> dict[str, Any]:
    values, clusters = means.effects(trial, tally, length, place)
    about = means.bounds(values, clusters) if len(values) else None
    found: dict[str, Any] = {"verdict": one.verdict, "units": len(set(clusters)), "failed": one.failed}
    found |= {"mean": None, "low": None, "high": None, "least": None}
    if about is not None:
        found |= {"mean": about.mean, "low": about.low, "high": about.high, "least": about.least}
    if trial.measure == "margin":
        found["positive"] = share(int((values > 0).sum()), len(values))
    else:
        samples = [sample for unit in tally.units(length, place).values() for sample in unit]
        top1 = [sample.numbers["top1"] for sample in samples if "top1" in sample.numbers]
        found["top1"] = sum(top1) / len(samples) if samples else None
        if one.bounds is not None and length != trial.short:
            found["kept"] = {"mean": one.bounds.mean, "least": one.bounds.least, "most": one.bounds.most}
    return found
