"""What every check of the audit offers, and what it says of a model."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ordinate.audit.names import identifier

if TYPE_CHECKING:
    from ordinate.audit.comparison import Comparison
    from ordinate.audit.subject import Run, Subject

Severity = Literal["note", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")

Status = Literal["passed", "failed", "refused", "not applicable", "undecided"]
"""`refused`: the model's own code, or a server, raised an error rather than compute something. `undecided`: nothing
that a server says can tell."""

Part = Literal[
    "keys", "queries", "values", "cache", "mask", "attention", "behind", "state", "embedding", "output", "table"
]
"""What differs first: `cache` is keys and values alike, held though they are another token's or another row's, or read
other than they were made; `mask` which tokens a query sees; `attention` a bias or what else joins queries and keys
that are equal themselves, or where that could not be looked into; `behind` what follows attention up to the next
layer's keys; `state` what layers that keep no keys make of the tokens before."""


ORDINARY = (
    "unexplained",
    "restart",
    "offset",
    "shared_position",
    "query_position",
    "rows",
    "length_switch",
    "base",
    "magnitude",
    "pairing",
    "rotation_count",
    "ring_index",
    "window",
    "clamped",
    "position_precision",
    "bias_offset",
    "mask",
    "state",
)
"""The kinds that a plain continuation on a cache can show."""


class Refusal(Exception):
    """The model's own code refused to compute something: the message is its error, in one line."""


@dataclass(frozen=True)
class Where:
    """Where a difference starts.

    Args:
        token: the first token that differs, by its index in its row; None where it was not found
        row: the first row of the batch that differs
        layer: the first layer that differs, from 0; None where it was not found
        part: what differs first in that layer
        heads: its heads that differ; None for all, or where it was not found
        rows: the rows that differ; None for all
        tokens: how many tokens differ, over all rows
    """

    token: int | None = None
    row: int | None = None
    layer: int | None = None
    part: Part | None = None
    heads: tuple[int, ...] | None = None
    rows: tuple[int, ...] | None = None
    tokens: int = 0


@dataclass(frozen=True)
class Outcome:
    """What one check says of one way of computing the same thing.

    Args:
        check: the name of the check
        case: what was done, in a few words: "chunks of 7"
        status: "passed", "failed", "refused", "not applicable" or "undecided"
        comparison: with the reference; None where nothing was computed
        threshold: the largest logit difference that is no fault here, [logit]
        kind: of the fault, a name in `kinds`; None unless it failed
        where: the fault starts; None unless it failed
        evidence: what was seen, in a sentence with its numbers; why, where it was refused or does not apply
        numbers: the numbers of the evidence, by name
    """

    check: str
    case: str
    status: Status
    comparison: "Comparison | None" = None
    threshold: float | None = None
    kind: str | None = None
    where: Where | None = None
    evidence: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """A kind of fault that a model shows, with the case that shows it best.

    Args:
        check: the check that found it
        kind: a name in `kinds`
        severity: "note", "warning" or "error"
        title: the kind in a sentence
        cases: the cases of the check that show it
        where: it starts, in the case that shows it best
        evidence: a sentence with the numbers of that case
        numbers: the numbers of the evidence, by name
        remedy: what to do
        reports: public threads about the same kind, "owner/name#n"
    """

    check: str
    kind: str
    severity: Severity
    title: str
    cases: tuple[str, ...]
    where: Where
    evidence: str
    numbers: Mapping[str, Any]
    remedy: str
    reports: tuple[str, ...]


class Check(ABC):
    """A check computes in another way what the reference pass has computed, and compares; it has no state.

    `name` is that of its file, `title` says in a few words what is done, `explanation` in a sentence what must be
    equal and why, `remedy` what to do where it is not, `reports` where it happened. `kinds` are the faults that it
    can tell, the first of them what it says where the evidence fits no pattern better. `cost` is about how many
    passes over the whole text it takes. A `late` check reads texts so long that a model which keeps a state between
    calls is another model afterwards: it runs behind the others.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    explanation: ClassVar[str]
    remedy: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]
    reports: ClassVar[tuple[str, ...]]
    cost: ClassVar[float] = 1.0
    late: ClassVar[bool] = False

    @property
    def id(self) -> str:
        """The check's name as it is typed and printed."""
        return identifier(self.name)

    @abstractmethod
    def applies(self, subject: "Subject") -> str | None:
        """None where the check has something to say of this model; else, in a sentence, why not."""

    @abstractmethod
    def outcomes(self, subject: "Subject") -> Iterator[Outcome]:
        """What is found, a case after another; `compared` makes most of them."""

    def compared(
        self,
        subject: "Subject",
        case: str,
        compute: Callable[[], "Run"],
        against: "Run | None" = None,
        *,
        control: "Callable[[], Run] | None" = None,
        unseen: "Callable[[], Run] | None" = None,
    ) -> Outcome:
        """Compute in another way and judge it against the reference, or against another run.

        Args:
            subject: the model
            case: what is done, in a few words
            compute: does it; what it raises as `Refusal` is an outcome of its own
            against: what it must equal, token by token; `subject.reference` where not given
            control: the same without what this check is about, run where the case fails: where this fails too, the
                fault is named after it
            unseen: the same with other tokens where no query may look, run where the case fails: where the two
                differ, queries look there
        """
        from ordinate.audit.judgement import judge

        try:
            run = compute()
            reference = subject.reference if against is None else against
            return judge(self, subject, case, run, reference, compute, control, unseen)
        except Refusal as refusal:
            return self.refused(case, str(refusal))

    def refused(self, case: str, why: str) -> Outcome:
        """The model's own code raised an error."""
        return Outcome(self.name, case, "refused", evidence=why)

    def passed(self, case: str, evidence: str, **numbers: Any) -> Outcome:
        """An outcome that is not a comparison of logits, and is as it should be."""
        return Outcome(self.name, case, "passed", evidence=evidence, numbers=numbers)

    def failed(self, case: str, kind: str, where: Where, evidence: str, **numbers: Any) -> Outcome:
        """An outcome that is not a comparison of logits, and is a fault."""
        return Outcome(self.name, case, "failed", kind=kind, where=where, evidence=evidence, numbers=numbers)
