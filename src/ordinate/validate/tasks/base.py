"""What every task gives: instances, exact scores, and what a reader scores that uses no evidence."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from ordinate.errors import InputError, non_negative_integer
from ordinate.registry import lookup, names, suggestion
from ordinate.validate.instances import (
    Demonstration,
    Instance,
    Record,
    evidence_only,
    evidence_removed,
    no_context,
)
from ordinate.validate.parsing import Form, Scored, judge
from ordinate.validate.streams import stream
from ordinate.validate.words import Words

T = TypeVar("T")
Difficulty = Mapping[str, Any]
DEMONSTRATIONS = 2
"""How many worked examples an instance has, where the difficulty `demonstrations` does not say another number."""


@dataclass(frozen=True)
class Version:
    """The records of an instance and the answer that follows from them."""

    records: tuple[Record, ...]
    answer: tuple[str, ...]


@dataclass(frozen=True)
class Draft:
    """An instance as a task makes it.

    Args:
        truth: the records and the answer
        question: what is asked
        swapped: the same records by name, with evidence that leads to another answer
        altered: the same question and form with other values
        choices: of a forced choice
        ordered: whether records are told in this order
        facts: for reports
    """

    truth: Version
    question: str
    swapped: Version
    altered: Version
    choices: tuple[str, ...] = ()
    ordered: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)


class Draw:
    """The random choices of one instance, and its words, none of them twice.

    Args:
        generator: of the instance
        words: the source of words
        balanced: gives an option whose uses are equal in number inside each block of instances
        member: which of a minimal pair is made, 0 or 1
        taken: words, in lower case, that are not to be drawn; those drawn are added
    """

    def __init__(
        self,
        generator: np.random.Generator,
        words: Words,
        balanced: Callable[[str, int], int],
        member: int,
        taken: set[str],
    ) -> None:
        self.generator, self.words, self._balanced, self.member = generator, words, balanced, member
        self._taken = taken

    def names(self, count: int) -> list[str]:
        """Capitalised words, of one length in tokens."""
        return self._fresh(lambda more: self.words.names(self.generator, more), count)

    def nouns(self, count: int) -> list[str]:
        """Words in lower case, of one length in tokens."""
        return self._fresh(lambda more: self.words.nouns(self.generator, more), count)

    def numbers(self, count: int, digits: int) -> list[str]:
        """Numbers in digits, of one length in tokens."""
        return self._fresh(lambda more: self.words.numbers(self.generator, more, digits), count)

    def balanced(self, attribute: str, options: int) -> int:
        """One of so many options, each used equally often inside every block of so many instances (or pairs)."""
        return self._balanced(attribute, options)

    def integer(self, low: int, high: int) -> int:
        """From `low` to `high`, both possible."""
        return int(self.generator.integers(low, high + 1))

    def pick(self, options: Sequence[T]) -> T:
        return options[self.integer(0, len(options) - 1)]

    def sample(self, options: Sequence[T], count: int) -> list[T]:
        """So many different ones, in random order."""
        return [options[i] for i in self.generator.permutation(len(options))[:count]]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        return self.sample(options, len(options))

    def _fresh(self, source: Callable[[int], Sequence[str]], count: int) -> list[str]:
        """One call to the source, so that all are of one length; again where one was used before."""
        while True:
            found = list(source(count))
            if not self._taken.intersection(word.casefold() for word in found):
                self._taken.update(word.casefold() for word in found)
                return found


class Task(ABC):
    """A kind of question, with everything that makes its score mean something.

    A task is one file; its class carries the file's name. Instances depend on the seed, the index, the difficulty and
    the tokenizer behind the words, on nothing else. Where `members` is 2, the instances 2 k and 2 k + 1 are a minimal
    pair: they differ in the evidence (or the question) alone, have different answers, and count as one that is right
    when both are.

    Args:
        words: where entities and values come from
    """

    name: ClassVar[str]
    title: ClassVar[str]
    abilities: ClassVar[tuple[str, ...]]
    """What a reader needs: "retrieve", "link", "combine", "order", "update", "compare", "cite", "abstain", "count"."""
    defaults: ClassVar[Difficulty]
    brief: ClassVar[Difficulty]
    """What of the difficulty is made smaller in demonstrations."""
    short: ClassVar[Difficulty]
    """What of the difficulty is made smaller where a prompt of 256 tokens is to hold an instance."""
    further: ClassVar[tuple[str, ...]] = ()
    """Forms of further decoys; see `Instance.forms`."""
    members: ClassVar[int] = 1
    form: ClassVar[Form] = "one"

    def __init__(self, words: Words) -> None:
        self.words = words

    @abstractmethod
    def draft(self, draw: Draw, difficulty: Difficulty) -> Draft:
        """Make one instance."""

    @abstractmethod
    def chance(self, **difficulty: Any) -> float:
        """The best score, of instances or pairs, of a reader that sees the task's form and uses no evidence, [1]."""

    def check(self, difficulty: Difficulty) -> None:  # noqa: B027 - most tasks have no more to check
        """Raise `InputError` where values do not go together."""

    def forms(self, difficulty: Difficulty) -> tuple[str, ...]:
        """The forms of further decoys: `further`, with <key> standing for a value of the difficulty."""
        filled = list(self.further)
        for key, value in difficulty.items():
            filled = [form.replace(f"<{key}>", str(value)) for form in filled]
        return tuple(filled)

    def difficulty(self, given: Difficulty) -> dict[str, Any]:
        """The defaults with what is given in their place; `demonstrations` is one for every task.

        Raises:
            InputError: an unknown name, a value of another type than the default's, or values that do not go together
        """
        defaults = {**self.defaults, "demonstrations": DEMONSTRATIONS}
        for key, value in given.items():
            if key not in defaults:
                raise InputError(f"{self.name} has no difficulty {key!r}{suggestion(key, list(defaults))}")
            if type(value) is not type(defaults[key]):
                raise InputError(f"{self.name}'s {key} must be of type {type(defaults[key]).__name__}, got {value!r}")
            if isinstance(value, int) and value < 0:
                raise InputError(f"{self.name}'s {key} must be >= 0, got {value}")
        merged = {**defaults, **given}
        if merged["demonstrations"] % self.members:
            raise InputError(
                f"{self.name}'s demonstrations must show both answers equally often, got {merged['demonstrations']}"
            )
        self.check(merged)
        return merged

    def instance(self, seed: int, index: int, **difficulty: Any) -> Instance:
        """The instance of this number: always the same for the same words.

        Raises:
            InputError: a negative seed or index, or a difficulty that the task does not have
        """
        level = self.difficulty(difficulty)
        index = non_negative_integer("index", index)
        unit, member = divmod(index, self.members)
        taken: set[str] = set()
        if self.members == 2:  # which of the two comes first is drawn, so that an even index tells nothing
            member ^= int(stream(seed, self.name, unit, "order of members").integers(2))
        draft = self.draft(self._draw(seed, unit, "", member, taken), level)
        demonstrations = self._demonstrations(seed, unit, {**level, **self._brief(level)}, taken)
        instance = Instance(
            task=self.name,
            index=index,
            seed=seed,
            members=self.members,
            records=draft.truth.records,
            ordered=draft.ordered,
            question=draft.question,
            answer=draft.truth.answer,
            choices=draft.choices,
            demonstrations=demonstrations,
            forms=self.forms(level),
            facts=draft.facts,
        )
        made = {
            name: replace(instance, records=version.records, answer=version.answer, control=name)
            for name, version in (("evidence_swapped", draft.swapped), ("altered_answers", draft.altered))
        }
        rest = (no_context(instance), evidence_removed(instance), evidence_only(instance))
        return replace(instance, controls={**made, **{control.control: control for control in rest}})

    def score(self, text: str, instance: Instance, *, continues: bool = False) -> Scored:
        """Judge a response by the strict parser.

        Args:
            text: the response
            instance: what was asked, or a control of it
            continues: whether the prompt ended with the lead, so that the response begins with the answer
        """
        return judge(text, instance.answer, self.form, continues=continues)

    def write(self, answer: Sequence[str]) -> str:
        """An answer as it is to be written after the lead."""
        return ", ".join(answer)

    def shown(self, records: Sequence[Record]) -> Sequence[Record]:
        """What of a demonstration's records is shown."""
        return records

    def _brief(self, level: Difficulty) -> dict[str, Any]:
        """Demonstrations are never larger than the instance."""
        return {key: min(value, level[key]) if isinstance(value, int) else value for key, value in self.brief.items()}

    def _demonstrations(self, seed: int, unit: int, level: Difficulty, taken: set[str]) -> tuple[Demonstration, ...]:
        """The same for both members of a pair; where there are pairs one of each member, in random order."""
        first = int(stream(seed, self.name, unit, "order of demonstrations").integers(2))
        shown = []
        for place in range(level["demonstrations"]):
            draw = self._draw(seed, unit, f"demonstration {place}", (first + place) % self.members, taken)
            draft = self.draft(draw, level)
            records = draft.truth.records
            if not draft.ordered:
                records = tuple(draw.shuffled(records))
            texts = tuple(record.text for record in self.shown(records))
            shown.append(Demonstration(texts, draft.question, self.write(draft.truth.answer)))
        return tuple(shown)

    def _draw(self, seed: int, unit: int, use: str, member: int, taken: set[str]) -> Draw:
        def balanced(attribute: str, options: int) -> int:
            block, place = divmod(unit, options)
            key = " ".join(filter(None, (use, "block", attribute)))
            return int(stream(seed, self.name, block, key).permutation(options)[place])

        return Draw(stream(seed, self.name, unit, use), self.words, balanced, member, taken)


def task_names() -> list[str]:
    """The tasks whose records stand in a text, in alphabetical order."""
    package = "ordinate.validate.tasks"
    return [name for name in names(package) if issubclass(lookup(package, name, "task"), Task)]


def task(name: str, words: Words) -> Task:
    """The task of this name.

    Raises:
        InputError: there is none; the message suggests the nearest
    """
    return lookup("ordinate.validate.tasks", name, "task")(words)


def evidence(texts: Sequence[str], name: str = "evidence") -> list[Record]:
    """Records that the answer needs."""
    return [Record(text, "evidence", f"{name} {i}") for i, text in enumerate(texts)]


def decoys(texts: Sequence[str], name: str = "decoy") -> list[Record]:
    """Records of the same form that do not matter."""
    return [Record(text, "decoy", f"{name} {i}") for i, text in enumerate(texts)]
