"""Readers that stand for models in other evaluation tools."""

from ordinate.validate.readers import Noisy, Oracle
from ordinate.validate.readers.base import Reader
from ordinate.validate.readers.shortcuts import SHORTCUTS


class Slips(Oracle):
    """An oracle that is wrong in about two of five prompts, by the prompt's text alone."""

    name = "slips"

    def respond(self, text: str) -> str:
        return Noisy(0.6).answer(list(text.encode()), _Bytes())


class _Bytes:
    def decode(self, ids: object) -> str:
        return bytes(ids).decode()  # type: ignore[arg-type]


def named(name: str) -> Reader:
    """The reader of a name."""
    return next(reader for reader in (Oracle(), Slips(), *SHORTCUTS) if reader.name == name)
