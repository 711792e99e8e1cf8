"""How many tokens the instances of a task take for one tokenizer, and how long its answers are."""

from collections.abc import Sequence
from typing import Any

from ordinate.validate.sampling.material import Material
from ordinate.validate.suites._entries import Entry
from ordinate.validate.tasks.associative_copy import AssociativeCopy
from ordinate.validate.tokenizers import continuation

PROBED = 24
"""Units of a task whose sizes are looked at before a run."""

SLACK = 1.04
"""Later instances may be a little larger, and sentences must close the rest."""

ROOM = {"base": 8, "chat": 48, "reasoning": 2048}
"""Tokens of an answer beyond the longest right one, by mode."""

TARGET = 256
"""Scored tokens of language modelling, where the short length is at least twice that."""


SHORTEST_TARGET = 32


class Sized:
    """An entry of a suite with its sizes.

    Args:
        entry: the task
        material: of the tokenizer
        filler: identity of the filler
        mode: of the response
        seed: of the instances
        reserve: room for the answer, [token]; None: by the longest right answer
    """

    def __init__(
        self, entry: Entry, material: Material, *, filler: str, mode: str, seed: int, reserve: int | None
    ) -> None:
        self.entry = entry
        self.mode = mode if entry.measure in ("answer", "margin") else "base"
        self.filler, self.reserve = filler, 0
        self.most: int | None = None  # the longest length that there is text for
        if entry.measure == "copy":
            self.filler = ""
            level = {**AssociativeCopy.defaults, **entry.difficulty}
            block = level["key"] + level["value"]
            self.needed = len(material.tokenizer.bos) + (2 * level["pairs"] + 1) * block
        elif entry.measure == "language":
            self.filler = material.novels_identity
            self.needed, self.most = SHORTEST_TARGET * 2, min(map(len, material.novels))
        else:
            self._probe(material, seed, reserve)

    def _probe(self, material: Material, seed: int, reserve: int | None) -> None:
        task, builder = material.task(self.entry.task), material.builder(self.filler, self.mode)
        instances = [task.instance(seed, index, **self.entry.difficulty) for index in range(PROBED * task.members)]
        self.needed = round(SLACK * max(builder.needed(instance) for instance in instances))
        answers = {
            f"{'' if self.mode == 'base' else instance.lead} {task.write(instance.answer)}" for instance in instances
        }
        longest = max(len(continuation(material.tokenizer, answer)) for answer in answers)
        self.reserve = longest + ROOM[self.mode] if reserve is None else reserve

    def difficulty(self, lengths: Sequence[int]) -> tuple[tuple[str, Any], ...]:
        """What differs from the task's defaults, sorted by name; of language modelling what its targets depend on."""
        if self.entry.measure == "language":
            return (("longest", lengths[-1]), ("target", min(TARGET, lengths[0] // 2)))
        return tuple(sorted(self.entry.difficulty.items()))
