"""P: is position numbered consistently? What the audit of the model, or of the server that runs it, says."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ordinate.audit.base import Finding, Outcome
from ordinate.validate.backends import Backend
from ordinate.validate.claims import Claim
from ordinate.validate.statistics import Verdict

Report = Callable[[str, float, float], None]
"""Called with what is being done, how much of it is done, and how much there is."""

SUBJECT = "position numbering"

REQUESTS, TOKENS = 600, 200_000
"""What may be asked of a server."""


def numbering(
    backend: Backend,
    *,
    checks: Sequence[str] | None = None,
    requests: int = REQUESTS,
    tokens: int = TOKENS,
    seconds: float = 1800.0,
    progress: Report | None = None,
) -> tuple[Claim, ...]:
    """Audit what a backend runs, and claim what comes of it.

    A backend with a model of transformers is audited as a model, one with a server as a server; for
    any other the claim is not applicable.

    Args:
        backend: what is audited
        checks: names of the audit's checks; all where not given
        requests, tokens, seconds: what may be asked of a server, [s]
        progress: told which check runs

    Raises:
        InputError: an unknown check
    """
    model, probed = getattr(backend, "model", None), getattr(backend, "probed", None)
    if hasattr(model, "named_modules"):
        from ordinate.audit import audit_model

        spec = getattr(backend, "spec", None)
        audit = audit_model(model, spec, checks=checks, name=str(backend.identity.get("model", "")), progress=progress)
        return (claimed(audit.subject, audit.outcomes, audit.findings),)
    if probed is not None:
        from ordinate.audit.server import Budget, audit_probed

        budget = Budget(requests, tokens, seconds)
        found = audit_probed(probed, budget=budget, checks=checks, progress=progress)
        return (claimed(found.subject, found.outcomes, found.findings),)
    why = f"the backend {backend.name!r} has neither a model nor a server that could be audited"
    return (Claim("P", SUBJECT, "", None, "not applicable", {}, why),)


def claimed(subject: Mapping[str, Any], outcomes: Sequence[Outcome], findings: Sequence[Finding]) -> Claim:
    """The claim that an audit makes.

    Supported where checks passed and none shows an error; refuted where one does; warnings and notes are caveats.

    Args:
        subject, outcomes, findings: as an audit has them
    """
    by_status: dict[str, list[str]] = {}
    for outcome in outcomes:
        by_status.setdefault(outcome.status, []).append(outcome.check)
    counts = {status: len(names) for status, names in sorted(by_status.items())}
    errors = [finding for finding in findings if finding.severity == "error"]
    lesser = [finding for finding in findings if finding.severity != "error"]
    passed = sorted(set(by_status.get("passed", ())) - set(by_status.get("failed", ())))
    length = subject.get("length") or max(subject.get("lengths") or (0,)) or None
    evidence = {
        "cases": counts,
        "passed": passed,
        "kinds": [finding.kind for finding in findings],
        "findings": [
            {"kind": finding.kind, "check": finding.check, "evidence": finding.evidence} for finding in errors
        ],
        "ended": subject.get("ended") or "",
    }
    caveats = tuple(f"{finding.severity}: {finding.title} ({finding.kind})" for finding in lesser)
    if subject.get("ended"):
        caveats = (*caveats, f"not all checks could be asked: {subject['ended']}")
    verdict: Verdict
    if errors:
        verdict, why = "refuted", f"{errors[0].title} {errors[0].evidence}"
        if len(errors) > 1:
            why = f"{len(errors)} kinds of fault: {', '.join(finding.kind for finding in errors)}; {why}"
    elif passed:
        verdict, why = "supported", f"{len(passed)} checks pass and none shows an error"
    else:
        verdict, why = "inconclusive", "no check could say anything"
    return Claim("P", SUBJECT, "", length, verdict, evidence, why, caveats)
