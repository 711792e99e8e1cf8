"""What prompts are made of for one tokenizer: words, tasks, builders and texts, each made when it is first needed."""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from ordinate.errors import InputError
from ordinate.registry import lookup, names
from ordinate.validate.builder import Builder, Template
from ordinate.validate.builder.templates import read_template
from ordinate.validate.fillers import Filler, find
from ordinate.validate.instances import Instance
from ordinate.validate.tasks.base import Difficulty, Task, task
from ordinate.validate.tokenizers import Tokenizer
from ordinate.validate.words import Words

SAMPLE = 200_000
"""Characters of a novel whose tokens make the vocabulary of random blocks."""


class Material:
    """Everything that depends on the tokenizer, and not on what answers.

    Args:
        tokenizer: the model's own
        fillers: those that no name finds, such as a file of the user's
        template: for the chat modes; where None, the tokenizer's own
    """

    def __init__(
        self, tokenizer: Tokenizer, *, fillers: tuple[Filler, ...] = (), template: Template | str | None = None
    ) -> None:
        self.tokenizer = tokenizer
        self.fillers = fillers
        self._fillers = {filler.identity: filler for filler in fillers}
        self._given = template
        self._tasks: dict[str, Task] = {}
        self._builders: dict[tuple[str, str], Builder] = {}

    @cached_property
    def words(self) -> Words:
        """Fresh words, none of which stands in a filler of the user's."""
        texts = [" ".join(filler.sentences(i)) for filler in self._fillers.values() for i in range(filler.blocks or 0)]
        return Words(self.tokenizer, texts)

    def task(self, name: str) -> Task:
        """The task of a name."""
        if name not in self._tasks:
            self._tasks[name] = task(name, self.words)
        return self._tasks[name]

    def instance(self, name: str, seed: int, index: int, difficulty: Difficulty, control: str = "") -> Instance:
        """An instance, or one of its controls."""
        whole = self.task(name).instance(seed, index, **difficulty)
        return whole.controls[control] if control else whole

    def filler(self, identity: str) -> Filler:
        """The filler of an identity, or of a name that needs no argument.

        Raises:
            InputError: none is known
        """
        if identity not in self._fillers:
            name = identity.split(":")[0]
            if name == "file":
                raise InputError(f"the file behind the filler {identity[:17]} must be given")
            found = find(name)
            if identity not in (name, found.identity):
                raise InputError(f"filler {name!r} is not what it was: {identity[:25]} was asked for")
            self._fillers[identity] = found
        return self._fillers[identity]

    def builder(self, filler: str, mode: str) -> Builder:
        """The builder of a filler and mode, which keeps what it has encoded."""
        key = (filler, mode)
        if key not in self._builders:
            template = None if mode == "base" else self.template
            self._builders[key] = Builder(self.tokenizer, filler=self.filler(filler), mode=mode, template=template)
        return self._builders[key]

    @cached_property
    def template(self) -> Template | None:
        """For the chat modes; None where none is known."""
        given = self.tokenizer.chat_template if self._given is None else self._given
        return read_template(given, self.tokenizer) if isinstance(given, str) else given

    @cached_property
    def novels(self) -> tuple[tuple[int, ...], ...]:
        """The shipped novels in token ids."""
        from ordinate.texts import names, read

        return tuple(tuple(self.tokenizer.encode(read(name).body)) for name in names())

    @cached_property
    def novels_identity(self) -> str:
        """What decides them: "novels:" and a sha256."""
        from ordinate.texts import names, read

        return "novels:" + hashlib.sha256("".join(read(name).sha256 for name in names()).encode()).hexdigest()

    @cached_property
    def vocabulary(self) -> tuple[int, ...]:
        """Ids for random blocks: those that stand in a novel, and those of the printable characters; none special.

        A model has met all of them, which is not so of every id of its vocabulary.
        """
        from ordinate.texts import read

        used = set(self.tokenizer.encode(read("emma").body[:SAMPLE]))
        for code in range(ord("!"), ord("~") + 1):
            used.update(self.tokenizer.encode(chr(code)))
        return tuple(sorted(used - self.tokenizer.specials))

    @property
    def identity(self) -> Mapping[str, str]:
        """What decides the prompts beside the requests."""
        from ordinate import __version__

        template = self.tokenizer.chat_template if self._given is None else self._given
        text = "" if template is None else template if isinstance(template, str) else repr(template)
        return {
            "tokenizer": self.tokenizer.sha256,
            "template": hashlib.sha256(text.encode()).hexdigest(),
            "ordinate": __version__,
        }


def kinds() -> dict[str, Any]:
    """The classes of all tasks by name, those of tokens included."""
    package = "ordinate.validate.tasks"
    return {name: lookup(package, name, "task") for name in names(package)}
