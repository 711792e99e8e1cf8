"""The form of a task's sentences, as a reader knows it, and a prompt taken apart by it."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ordinate.registry import lookup, names
from ordinate.validate.readers.sentences import Fact, facts

LATEST = 4000  # characters: the question begins no further from the end, whatever a template puts behind it
_LEAD = re.compile(r"\banswer\s?:", re.IGNORECASE)


class Form(ABC):
    """What the sentences of a task mean.

    It knows the words that all instances share and nothing of any one: what it says is worked out from the text.
    """

    name: ClassVar[str]
    questions: ClassVar[tuple[re.Pattern[str], ...]]
    sentences: ClassVar[tuple[re.Pattern[str], ...]]
    options: ClassVar[tuple[str, ...]] = ()
    """Answers that are possible without reading."""

    @abstractmethod
    def solve(self, page: "Page") -> str:
        """The answer that follows from what is told; empty where none follows."""

    @abstractmethod
    def candidates(self, page: "Page") -> list[tuple[int, str]]:
        """What has the form of an answer, in told order, each with where it stands: what a shortcut chooses from."""


@dataclass(frozen=True)
class Page:
    """A prompt, taken apart.

    Args:
        form: of the question that it ends with
        asked: the question, and what stands in its gaps
        told: the sentences of the form between the last worked example and the question, in told order
    """

    form: Form
    asked: Fact
    told: tuple[Fact, ...]

    def solve(self) -> str:
        """The answer that follows from what is told; empty where none follows."""
        return self.form.solve(self)

    def candidates(self) -> list[tuple[int, str]]:
        """What has the form of an answer, in told order, each with where it stands."""
        return self.form.candidates(self)

    def only(self, fact: Fact) -> "Page":
        """The page with this sentence alone."""
        return replace(self, told=(fact,))


def forms() -> tuple[Form, ...]:
    """The forms of all tasks."""
    package = "ordinate.validate.readers.forms"
    return tuple(lookup(package, name, "form")() for name in names(package))


def read(text: str, known: Sequence[Form]) -> Page | None:
    """The page of a prompt; None where it asks no question of these forms near its end."""
    least = max(0, len(text) - LATEST)
    found = [(asked, form) for form in known for asked in facts(text, form.questions, least)[-1:]]
    if not found:
        return None
    asked, form = max(found, key=lambda item: item[0].start)
    # A worked example is a question and a lead before this one; the word may stand in the context, too.
    earlier = [fact.start for fact in facts(text[: asked.start], form.questions)]
    lead = _LEAD.search(text, earlier[-1], asked.start) if earlier else None
    return Page(form, asked, tuple(facts(text[lead.end() if lead else 0 : asked.start], form.sentences)))
