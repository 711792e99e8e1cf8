"""What every check of a server offers."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from ordinate.audit.base import Outcome
from ordinate.audit.names import identifier
from ordinate.audit.server.server import Server


class ServerCheck(ABC):
    """A check asks a server and judges what it answers; it has no state.

    `name` is that of its file, `title` says in a few words what is done, `explanation` in a sentence what must be so
    and why, `remedy` what to do where it is not, `reports` where it happened. `kinds` are the faults that it can tell.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    explanation: ClassVar[str]
    remedy: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]
    reports: ClassVar[tuple[str, ...]]

    @property
    def id(self) -> str:
        """The check's name as it is typed and printed."""
        return identifier(self.name)

    def applies(self, server: Server) -> str | None:
        """None where the check has something to say of this server; else, in a sentence, why not."""
        return None if server.lengths else "no prompt fits into the window"

    @abstractmethod
    def outcomes(self, server: Server) -> Iterator[Outcome]:
        """What is found, a case after another."""
