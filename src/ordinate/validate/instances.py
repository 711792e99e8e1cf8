"""What a task asks, before it is laid out: records to be placed in a long text, and a question about them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ordinate.errors import InputError, got, non_negative_integer, one_of, positive_integer

ROLES = ("evidence", "decoy")
CONTROLS = ("no_context", "evidence_removed", "evidence_swapped", "evidence_only", "altered_answers")
"""What an instance may be turned into to see that the evidence, and nothing else, makes the answer.

no_context: without records; evidence_removed: decoys alone; evidence_only: no decoys; evidence_swapped: the same
records by name, token count and order, but the evidence leads to another of the answers (its `answer` is that one);
altered_answers: the same question and form with other values throughout.
"""


@dataclass(frozen=True)
class Record:
    """One sentence or line that is placed in the text.

    Args:
        text: without leading or trailing white space, on one line
        role: "evidence": the answer needs it; "decoy": it has evidence's form and does not matter
        name: unique in its instance
    """

    text: str
    role: Literal["evidence", "decoy"]
    name: str

    def __post_init__(self) -> None:
        """Check."""
        _one_line("a record's text", self.text)
        one_of("a record's role", self.role, ROLES)
        if not isinstance(self.name, str) or not self.name or "|" in self.name:
            raise InputError(f"a record's name must be text without '|', got {got(self.name)}")


@dataclass(frozen=True)
class Demonstration:
    """A short worked example in the instance's form, about other entities.

    Args:
        records: the sentences it is about, in told order
        question: what is asked, as in the instance
        answer: what follows the lead
    """

    records: tuple[str, ...]
    question: str
    answer: str

    def __post_init__(self) -> None:
        """Check."""
        for text in (*self.records, self.answer):
            _one_line("a demonstration's text", text)
        _stripped("a demonstration's question", self.question)


@dataclass(frozen=True)
class Instance:
    """One question of a task, with everything that is to be read for it.

    Args:
        task, index, seed: whence it comes; with the tokenizer of the words they determine all the rest
        members: how many instances in a row are one unit: 2 for a minimal pair, whose members are laid out alike
        records: what is placed in the text
        ordered: the records are told in the order given; else the builder draws an order, the same at every length
            and depth, in which evidence has no rank of its own
        gap: where records are kept together (at all places but "spread" and "reversed"), the least share of the
            context between the beginnings of neighbouring ones
        question: what is asked, after the context
        lead: what the answer follows
        answer: the canonical parts of the answer; what `score` compares
        choices: the answers of a forced choice; empty where there is none
        demonstrations: shown before the context
        forms: further decoys for the filler `records`, which makes every sentence one: sentences of the task's form in
            which {name}, {noun} and {number:5} stand for fresh words and {red|green|blue} for one of these; none of
            them may touch the answer; empty where the task has no such decoys
        facts: for reports alone; no reader is given them
        control: which control this is; empty for the instance itself
        controls: the control instances that the task made, by name
    """

    task: str
    index: int
    seed: int
    records: tuple[Record, ...]
    question: str
    answer: tuple[str, ...]
    members: int = 1
    ordered: bool = False
    gap: float = 0.0
    lead: str = "Answer:"
    choices: tuple[str, ...] = ()
    demonstrations: tuple[Demonstration, ...] = ()
    forms: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    control: str = ""
    controls: Mapping[str, "Instance"] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Check."""
        non_negative_integer("index", self.index)
        non_negative_integer("seed", self.seed)
        positive_integer("members", self.members)
        names = [record.name for record in self.records]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(f"records must have names of their own, got {twice[0]!r} twice")
        _stripped("question", self.question)
        _one_line("lead", self.lead)
        for form in self.forms:
            _one_line("a form", form)
        if self.control:
            one_of("control", self.control, CONTROLS)
        if not 0 <= self.gap <= 1:
            raise InputError(f"gap must be a share of the context from 0 to 1, got {got(self.gap)}")
        for name, control in self.controls.items():
            if one_of("the name of a control", name, CONTROLS) != control.control:
                raise InputError(f"the control {name!r} must have it as its control, got {control.control!r}")

    @property
    def unit(self) -> int:
        """The number of its unit: layouts are drawn by it."""
        return self.index // self.members

    @property
    def evidence(self) -> tuple[Record, ...]:
        """The records that the answer needs."""
        return tuple(record for record in self.records if record.role == "evidence")


def no_context(instance: Instance) -> Instance:
    """The instance without records."""
    return replace(instance, records=(), control="no_context", controls={})


def evidence_removed(instance: Instance) -> Instance:
    """The instance with its decoys alone."""
    decoys = tuple(record for record in instance.records if record.role == "decoy")
    return replace(instance, records=decoys, control="evidence_removed", controls={})


def evidence_only(instance: Instance) -> Instance:
    """The instance without its decoys."""
    return replace(instance, records=instance.evidence, control="evidence_only", controls={})


def _stripped(name: str, text: Any) -> None:
    if not isinstance(text, str) or not text or text != text.strip():
        raise InputError(f"{name} must be text without white space at its ends, got {got(text)}")


def _one_line(name: str, text: Any) -> None:
    _stripped(name, text)
    if len(text.splitlines()) != 1:
        raise InputError(f"{name} must stand on one line, got {got(text)}")
