"""A reader: token ids in, a response out."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol

from ordinate.validate.readers.forms.base import Page, forms, read


class Decoder(Protocol):
    """What a reader needs of a tokenizer."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids."""
        ...


class Reader(ABC):
    """Answers a prompt from its token ids and the tokenizer; no reader is ever given the instance.

    `solves` names the tasks that it may solve, by what it does; on all others its score must stay at chance.
    """

    name: ClassVar[str]
    solves: ClassVar[frozenset[str]] = frozenset()

    def answer(self, ids: Sequence[int], tokenizer: Decoder) -> str:
        """The response to a prompt: what follows its lead, empty where it has nothing to say."""
        return self.respond(tokenizer.decode(ids))

    @abstractmethod
    def respond(self, text: str) -> str:
        """The response to a prompt's text."""


class PageReader(Reader):
    """A reader that knows the forms of the tasks' sentences."""

    def __init__(self) -> None:
        self.forms = forms()

    def respond(self, text: str) -> str:
        page = read(text, self.forms)
        return "" if page is None else self.choose(page)

    @abstractmethod
    def choose(self, page: Page) -> str:
        """The response to a page."""
