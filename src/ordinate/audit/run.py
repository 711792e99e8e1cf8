"""Run the checks over a model, and gather what they found."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from ordinate import registry
from ordinate.audit.base import Check, Finding, Outcome, Refusal, Where
from ordinate.audit.kinds import KINDS
from ordinate.audit.names import check_class, identifier
from ordinate.audit.subject import Subject
from ordinate.errors import InputError, got, one_of
from ordinate.spec import Spec

_PACKAGE = "ordinate.audit.checks"

DTYPES = ("float32", "bfloat16", "float16")

Report = Callable[[str, float, float], None]
"""Called with what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class Audit:
    """What the checks found in one model.

    Args:
        subject: facts about the model and the run, by name
        outcomes: in the order in which they were found
        findings: the gravest first
    """

    subject: dict[str, Any]
    outcomes: tuple[Outcome, ...]
    findings: tuple[Finding, ...]


def all_checks() -> list[Check]:
    """All checks, in the order of their names."""
    return [registry.lookup(_PACKAGE, name, "check")() for name in registry.names(_PACKAGE)]


def find_check(name: str) -> Check:
    """The check with this id.

    Raises:
        InputError: there is none; the message suggests the nearest
    """
    return check_class(_PACKAGE, name, "check")()


def audit_model(
    model: Any,
    spec: Spec | None = None,
    *,
    checks: Sequence[str] | None = None,
    ids: Tensor | None = None,
    length: int | None = None,
    name: str = "model",
    progress: Report | None = None,
) -> Audit:
    """Audit a loaded model of transformers.

    Args:
        model: causal, encoder, or encoder and decoder; it is not changed
        spec: what it does with position, as `ordinate.read` says it; read from its configuration where not given
        checks: ids of the checks to run; all where not given
        ids: [tokens], what is read; drawn at random where not given
        length: tokens of the reference pass; what suits the model's size where not given
        name: what the model is called
        progress: told which check runs, and how many are done

    Raises:
        InputError: an unknown check, a length beyond the window or below 16, or a model that cannot run at all
    """
    if checks is not None and (isinstance(checks, str) or not checks):
        raise InputError(f"checks must be a list of at least one check's id, got {got(checks)}")
    asked = all_checks() if checks is None else [find_check(one) for one in checks]
    asked = sorted(asked, key=lambda check: check.late)
    subject = Subject(model, described(model) if spec is None else spec, ids=ids, length=length, name=name)
    outcomes: list[Outcome] = []
    began = time.perf_counter()
    with subject.evaluating():
        try:
            noise = subject.noise
        except Refusal as refusal:
            raise InputError(f"{name} cannot be audited: its own plain pass fails: {refusal}") from refusal
        if not (math.isfinite(noise.logits) and bool(subject.reference.logits.isfinite().all())):
            raise InputError(
                f"{name} cannot be audited: the outputs of its own plain pass, or of that pass rounded otherwise, are "
                f"infinite or NaN in {str(subject.dtype).removeprefix('torch.')}"
            )
        for done, check in enumerate(asked):
            if progress:
                progress(f"checks: {check.id} ({done + 1} of {len(asked)})", done, len(asked))
            outcomes.extend(_asked(check, subject))
        if progress:
            progress("checks: done", len(asked), len(asked))
    facts = {
        "name": name,
        "model_type": str(getattr(model.config, "model_type", "")),
        "architecture": subject.call.architecture,
        "dtype": str(subject.dtype).removeprefix("torch."),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "length": subject.length,
        "window": subject.window,
        "frequencies_change_past": subject.crossing,
        "cache": "transformers" if subject.caching is None else "ordinate",
        "regime": None if subject.caching is None else subject.caching.regime.name,
        "described": subject.spec is not None,
        "noise_floor": noise.logits,
        "threshold": noise.threshold,
        "rows": subject.ids.shape[0],
        "passes": subject.call.passes,
        "tokens": subject.call.tokens,
        "seconds": round(time.perf_counter() - began, 3),
        "checks": [check.id for check in asked],
    }
    return Audit(facts, tuple(outcomes), findings(outcomes, _cures(subject)))


def described(model: Any) -> Spec | None:
    """What a loaded model's configuration says about position, or None where it cannot be read."""
    from ordinate.dialects import read

    try:
        return read(model.config.to_dict())
    except InputError:
        return None


def _asked(check: Check, subject: Subject) -> Iterator[Outcome]:
    why_not = check.applies(subject)
    if why_not is not None:
        yield Outcome(check.name, "", "not applicable", evidence=why_not)
        return
    try:
        yield from check.outcomes(subject)
    except Refusal as refusal:
        yield check.refused("", str(refusal))


def _cures(subject: Subject) -> dict[str, str]:
    """What else to do about a kind of fault in this model."""
    if subject.crossing is None or subject.caching is not None or not subject.call.keeps_cache:
        return {}
    return {
        "state_kept": "Where these are frequencies that follow the length, `ordinate.transformers.use_cache(model)` "
        "turns each row by its own length, whatever was read before."
    }


def findings(outcomes: Sequence[Outcome], cures: Mapping[str, str] | None = None) -> tuple[Finding, ...]:
    """One finding for each kind of fault: the case with the largest difference stands for it.

    Args:
        outcomes: of all checks
        cures: by kind of fault, what else to do about it
    """
    grouped: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.status == "failed" and outcome.kind is not None:
            grouped.setdefault(outcome.kind, []).append(outcome)
    made = [_finding(name, group, (cures or {}).get(name)) for name, group in grouped.items()]
    order = {"error": 0, "warning": 1, "note": 2}
    return tuple(sorted(made, key=lambda finding: (order[finding.severity], finding.kind)))


def _finding(name: str, group: list[Outcome], cure: str | None) -> Finding:
    kind = KINDS[name]
    # What does not compare logits has no difference to be ranked by.
    best = max(group, key=lambda outcome: outcome.numbers.get("max_difference", 0.0))
    return Finding(
        check=best.check,
        kind=name,
        severity=kind.severity,
        title=kind.title,
        cases=tuple(f"{identifier(outcome.check)}: {outcome.case}" for outcome in group),
        where=best.where or Where(),
        evidence=best.evidence,
        numbers=best.numbers,
        remedy=kind.remedy if cure is None else f"{kind.remedy} {cure}",
        reports=kind.reports or find_check(best.check).reports,
    )


def audit(
    source: str | Path,
    *,
    checks: Sequence[str] | None = None,
    length: int | None = None,
    dtype: str | None = None,
    progress: Report | None = None,
    cache: Path | None = None,
) -> Audit:
    """Load a model from its files and audit it.

    Args:
        source: a Hugging Face directory, a GGUF file, or a model's name
        checks: ids of the checks to run; all where not given
        length: tokens of the reference pass; what suits the model's size where not given
        dtype: "float32", "bfloat16" or "float16" to compute in; that of the files where not given
        progress: told which check runs, and how many are done
        cache: where GGUF files are converted to; the platform's cache directory where not given

    Raises:
        InputError: a model that cannot be loaded or run, an unknown check, or a length that does not fit
        Unavailable: it does not fit into memory
    """
    from ordinate.audit.loading import load_subject
    from ordinate.dialects import read
    from ordinate.transformers.convert import converted

    for one in checks or ():
        find_check(one)
    if dtype is not None:
        one_of("dtype", dtype, DTYPES)
    directory = converted(source, progress=progress, cache=cache)
    model, ids = load_subject(directory, dtype)
    try:
        spec = read(directory)
    except InputError:
        spec = None
    return audit_model(model, spec, checks=checks, ids=ids, length=length, name=str(source), progress=progress)
