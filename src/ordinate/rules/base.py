"""What every lint rule offers, and what it finds."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ordinate.rules._subject import Subject

Severity = Literal["note", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")
MAXIMUM_TEXT = 700


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong or risky, where it stands, and what to write instead.

    Args:
        rule: the id of the rule that found it
        severity: "note", "warning" or "error"
        file: the file that it stands in
        key: the path of the setting in that file, dots between, or "" for the whole file
        line: the line of that setting, from 1, where the file is JSON and has it
        evidence: what is so, in a sentence with its numbers
        fix: what to write instead, with its values
        numbers: the numbers of the evidence, by name
    """

    rule: str
    severity: Severity
    file: str
    key: str
    line: int | None
    evidence: str
    fix: str
    numbers: Mapping[str, Any] = field(default_factory=dict)


class Rule(ABC):
    """A rule finds one kind of fault; it has no state, and raises on no input.

    `explanation` says in one sentence what it finds, `why` what goes wrong, `remedy` what to do about it in general.
    `reports` are where it happened: `owner/name#n` is a public thread, anything else names the code. `engines` are
    those that must be named for the rule to run; where it is empty the rule always runs. `example` is a small
    configuration in which the rule finds something; where its keys are names of files, a small directory.
    """

    name: ClassVar[str]
    severity: ClassVar[Severity] = "warning"
    engines: ClassVar[tuple[str, ...]] = ()
    explanation: ClassVar[str]
    why: ClassVar[str]
    remedy: ClassVar[str]
    reports: ClassVar[tuple[str, ...]]
    example: ClassVar[Mapping[str, Any]]
    gives_way: ClassVar[bool] = False
    """What it finds is left out where another rule has found something at the setting that it speaks of."""

    @property
    def id(self) -> str:
        """The rule's name as it is typed and printed."""
        return self.name.replace("_", "-")

    @abstractmethod
    def find(self, subject: Subject) -> Iterator[Finding]:
        """What is wrong with a subject, as this rule sees it."""

    def finding(
        self,
        subject: Subject,
        key: str,
        evidence: str,
        fix: str,
        /,
        *,
        severity: Severity | None = None,
        file: str | None = None,
        **numbers: Any,
    ) -> Finding:
        """A finding of this rule in the subject's main file, or in `file` of the same directory."""
        place, line = subject.place(key, file)
        # JSON has no word for what is not finite.
        numbers = {name: str(v) if isinstance(v, float) and not math.isfinite(v) else v for name, v in numbers.items()}
        return Finding(
            self.id, severity or self.severity, place, _line(key), line, _line(evidence), _line(fix), numbers
        )


def _line(text: str) -> str:
    """A text from which nothing can reach a terminal as a command, in one line."""
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(text.split()))
    return line if len(line) <= MAXIMUM_TEXT else line[: MAXIMUM_TEXT - 3] + "..."
