"""Whether a run is the reference, and which kind of fault it is where it is not."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ordinate.audit.base import Check, Outcome, Where
from ordinate.audit.comparison import Comparison, compare
from ordinate.audit.diagnosis import Diagnosis, diagnose
from ordinate.audit.localiser import localise
from ordinate.audit.runs import Run
from ordinate.describe.words import figures

if TYPE_CHECKING:
    from ordinate.audit.subject import Subject


def judge(
    check: Check,
    subject: "Subject",
    case: str,
    run: Run,
    reference: Run,
    compute: Callable[[], Run],
    control: Callable[[], Run] | None = None,
    unseen: Callable[[], Run] | None = None,
) -> Outcome:
    """Compare a run with a reference, and say where it leaves it and why.

    It fails where a logit differs by more than `FACTOR` times the noise floor, or a key or value of its cache does.
    `run` is what `compute` gave; the other arguments are those of `Check.compared`.

    Raises:
        Refusal: nothing can be compared
    """
    threshold = subject.noise.threshold
    comparison = compare(reference, run, distributions=subject.has_logits)
    where = localise(reference, run, subject.noise, comparison, threshold)
    outcome = Outcome(check.name, case, "passed", comparison, threshold, numbers=_numbers(subject, comparison))
    if where is None:
        return outcome
    found = _named(check, subject, run, reference, where, compute, control, unseen)
    if found.part is not None:
        layer = where.layer if found.layer is None else found.layer
        where = replace(where, layer=layer, part=found.part, heads=found.heads)
    return replace(
        outcome,
        status="failed",
        kind=found.kind,
        where=where,
        evidence=f"{case}: {_size(outcome)}{_place(where)}{'; ' + found.evidence if found.evidence else ''}",
        numbers={**outcome.numbers, **found.numbers},
    )


def _named(
    check: Check,
    subject: "Subject",
    run: Run,
    reference: Run,
    where: Where,
    compute: Callable[[], Run],
    control: Callable[[], Run] | None,
    unseen: Callable[[], Run] | None,
) -> Diagnosis:
    """The kind of fault: what already fails without the check's own doing is no fault of that."""
    if control is not None:
        plain = control()
        comparison = compare(subject.reference, plain, distributions=subject.has_logits)
        at = localise(subject.reference, plain, subject.noise, comparison, subject.noise.threshold)
        if at is not None:
            found = diagnose(subject, plain, subject.reference, at, control)
            return Diagnosis(found.kind, found.evidence or "so it is without this as well", found.numbers)
    if unseen is not None:
        other = unseen()
        seen = compare(run, replace(other, of=()), distributions=False).max_difference
        if seen > subject.noise.threshold:
            change = figures(seen, 2)
            return Diagnosis(check.kinds[0], f"other tokens where none may look change the logits by {change}")
    found = diagnose(subject, run, reference, where, compute)
    return found if found.kind in check.kinds else replace(found, kind=check.kinds[0])


def _numbers(subject: "Subject", comparison: Comparison) -> dict[str, float | int]:
    found = {
        "max_difference": comparison.max_difference,
        "noise_floor": subject.noise.logits,
        "tokens": comparison.tokens,
        "max_kl": comparison.max_kl,
        "top1": comparison.top1,
    }
    return {name: value for name, value in found.items() if value is not None}


def _size(outcome: Outcome) -> str:
    comparison, threshold = outcome.comparison, outcome.threshold
    assert comparison is not None and threshold is not None  # noqa: S101, PT018 - for the type checker
    floor = outcome.numbers["noise_floor"]
    times = comparison.max_difference / floor if floor else float("inf")
    apart = figures(comparison.max_difference, 2)
    if comparison.max_difference <= threshold:
        return f"logits differ by {apart}, within {figures(threshold, 2)}, and cached vectors differ"
    agreed = "" if comparison.top1 is None else f", {comparison.top1:.0%} of tokens keep their successor"
    return f"logits differ by up to {apart}, {figures(times, 3)} times the noise floor{agreed}"


def _place(where: Where) -> str:
    parts = {
        "keys": "its keys differ and its values do not",
        "queries": "its queries differ and its keys and values do not",
        "values": "its values differ and its keys do not",
        "cache": "keys and values of its cache differ",
        "mask": "its queries, keys and values are equal and see other tokens",
        "attention": "its keys and values are equal and what it returns differs",
        "behind": "what its attention returns is equal and what follows it differs",
        "state": "it keeps no keys, and what it makes of the tokens before differs",
        "embedding": "keys and values differ from the first layer on",
        "output": "the outputs differ",
        "table": "its table differs",
    }
    text = "" if where.token is None else f"; from token {where.token}"
    if where.row:
        text += f" of row {where.row}"
    if where.layer is not None:
        heads = "" if where.heads is None else f", head {', '.join(map(str, where.heads))}"
        text += f", layer {where.layer}{heads}"
    return text + (f": {parts[where.part]}" if where.part else "")
