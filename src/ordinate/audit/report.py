"""What an audit found, for people and for programs: text, JSON, and SARIF 2.1.0."""

import json
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, Protocol

import msgspec

from ordinate.audit.base import Finding, Outcome, Where
from ordinate.audit.kinds import KINDS
from ordinate.audit.names import identifier
from ordinate.describe.words import counted, figures
from ordinate.schema import SCHEMA_VERSION

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_WIDTH = 100
_TOLD = (
    ("not applicable", "does not apply"),
    ("refused", "refused"),
    ("undecided", "undecided"),
)
"""The outcomes that are neither passed nor failed, and how the text calls them."""


class Result(Protocol):
    """What there is to report of a model or a server."""

    @property
    def subject(self) -> Mapping[str, Any]: ...

    @property
    def outcomes(self) -> Sequence[Outcome]: ...

    @property
    def findings(self) -> Sequence[Finding]: ...


class Case(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One outcome as JSON has it. What is empty is left out.

    Args:
        check: what computed
        case: what was done, in a few words
        status: "passed", "failed", "refused", "not applicable" or "undecided"
        kind: of the fault, where there is one
        evidence: what was seen, or why nothing was
        where: the fault starts
        numbers: of the evidence, by name
    """

    check: str
    case: str
    status: str
    kind: str | None = None
    evidence: str = ""
    where: Where | None = None
    numbers: dict[str, Any] = {}


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An audit as JSON has it.

    Args:
        schema_version: of the schema of results
        kind: "audit"
        subject: facts about what was audited and how, by name
        findings: the gravest first
        outcomes: every case of every check
    """

    schema_version: Annotated[int, msgspec.Meta(ge=1, le=1)]
    kind: Literal["audit"]
    subject: dict[str, Any]
    findings: list[Finding]
    outcomes: list[Case]


def to_json(result: Result) -> str:
    """Everything that was found, passed cases too. What is not finite becomes a word: JSON has no number for it."""
    cases = [
        Case(identifier(o.check), o.case, o.status, o.kind, o.evidence, o.where, dict(o.numbers))
        for o in result.outcomes
    ]
    findings = [replace(finding, check=identifier(finding.check)) for finding in result.findings]
    document = Document(SCHEMA_VERSION, "audit", dict(result.subject), findings, cases)
    return json.dumps(_finite(msgspec.to_builtins(document)), indent=2, allow_nan=False)


def to_sarif(result: Result, version: str) -> str:
    """The findings as one run of the static analysis results interchange format, a rule for each kind of fault."""
    index = {name: number for number, name in enumerate(KINDS)}
    driver = {
        "name": "ordinate",
        "version": version,
        "rules": [
            {
                "id": kind.name,
                "shortDescription": {"text": kind.title},
                "help": {"text": f"{kind.remedy} Reports: {', '.join(kind.reports) or 'none'}"},
                "defaultConfiguration": {"level": kind.severity},
            }
            for kind in KINDS.values()
        ],
    }
    name = str(result.subject.get("name") or result.subject.get("url") or "model")
    results = [
        {
            "ruleId": finding.kind,
            "ruleIndex": index[finding.kind],
            "level": finding.severity,
            "message": {"text": f"{finding.evidence}. What to do: {finding.remedy}"},
            "locations": [{"logicalLocations": [{"name": place(finding.where), "fullyQualifiedName": name}]}],
            "properties": {
                "check": identifier(finding.check),
                "cases": list(finding.cases),
                "numbers": dict(finding.numbers),
            },
        }
        for finding in result.findings
    ]
    runs = [{"tool": {"driver": driver}, "results": _finite(results), "properties": _finite(dict(result.subject))}]
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": runs}, indent=2, allow_nan=False)


def to_text(result: Result) -> str:
    """One block a finding, then how many checks passed, and why others did not run."""
    lines = [*_facts(result.subject), ""]
    for finding in result.findings:
        lines += [*_block(finding), ""]
    return "\n".join([*lines, *_summary(result)])


def _facts(subject: Mapping[str, Any]) -> Iterator[str]:
    if "parameters" not in subject:
        yield _plain(str(subject.get("name") or subject.get("url")))
        if "requests" in subject:
            asked, read = counted(subject["requests"], "request"), counted(subject["tokens"], "token")
            yield f"{_plain(str(subject['model']))}: {asked}, about {read}"
        if subject.get("ended"):
            yield f"ended early: {_plain(str(subject['ended']))}"
        return
    yield (
        f"{_plain(str(subject['name']))}: {subject['model_type']}, {subject['parameters'] / 1e6:,.1f} million "
        f"parameters, {subject['dtype']}"
    )
    yield (
        f"two rows of {counted(subject['length'], 'token')}; {counted(subject['passes'], 'forward pass', 'es')} over "
        f"{counted(subject['tokens'], 'token')}; {subject['seconds']:.0f} s"
    )
    floor, threshold = figures(subject["noise_floor"], 2), figures(subject["threshold"], 2)
    yield f"noise floor {floor} logit: a fault differs by more than {threshold}, or in a cached vector"
    yield "cache: transformers' own" if subject["regime"] is None else f"cache: Ordinate's, regime {subject['regime']}"


def _block(finding: Finding) -> Iterator[str]:
    yield f"{finding.severity} [{finding.kind}] {finding.title}"
    parts = {
        "seen": finding.evidence,
        "where": place(finding.where),
        "cases": "; ".join(finding.cases),
        "what to do": finding.remedy,
        "reports": ", ".join(finding.reports),
    }
    for name, text in parts.items():
        if text:
            yield from textwrap.wrap(
                f"{name}: {_plain(text)}",
                _WIDTH,
                initial_indent="  ",
                subsequent_indent="    ",
                break_long_words=False,
                break_on_hyphens=False,
            )


def place(where: Where) -> str:
    """Where a difference starts, in words; empty where that is not known."""
    parts = []
    if where.token is not None:
        parts.append(f"from token {where.token}" + (f" of row {where.row}" if where.row else ""))
    if where.layer is not None:
        parts.append(f"layer {where.layer}")
    if where.part is not None:
        parts.append(where.part)
    if where.heads is not None:
        parts.append(f"heads {', '.join(map(str, where.heads))}")
    if where.rows is not None:
        parts.append(f"rows {', '.join(map(str, where.rows))}")
    return ", ".join(parts)


def _summary(result: Result) -> Iterator[str]:
    by_check: dict[str, list[Outcome]] = {}
    for outcome in result.outcomes:
        by_check.setdefault(outcome.check, []).append(outcome)
    failed = [name for name, some in by_check.items() if any(_is_fault(outcome) for outcome in some)]
    noted = [name for name, some in by_check.items() if any(outcome.status == "failed" for outcome in some)]
    passed = [
        name
        for name, some in by_check.items()
        if any(outcome.status == "passed" for outcome in some) and name not in noted
    ]
    notes = sum(finding.severity == "note" for finding in result.findings)
    faults = len(result.findings) - notes
    yield (
        f"{_counted(faults, 'kind')} of fault{', ' + _counted(notes, 'note') if notes else ''}; "
        f"{_counted(len(passed), 'check')} passed, {len(failed)} failed"
    )
    for status, words in _TOLD:
        for outcome in result.outcomes:
            if outcome.status == status:
                case = f", {outcome.case}" if outcome.case else ""
                yield f"  {identifier(outcome.check)}{case}: {words}: {_plain(outcome.evidence)}"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"


def _is_fault(outcome: Outcome) -> bool:
    """Whether an outcome is one that an error or a warning tells of, and no note."""
    return outcome.status == "failed" and (outcome.kind is None or KINDS[outcome.kind].severity != "note")


def _plain(text: str) -> str:
    """A text from which nothing can reach a terminal as a command, in one line."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(text.split()))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
