"""Which kinds of results there are: a file in this folder is one, and its name is the kind."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ordinate import registry
from ordinate.errors import InputError

_MACHINERY = ("kinds", "publication", "reading")


@dataclass(frozen=True)
class Kind:
    """One kind of result.

    Args:
        name: as the key "kind" has it
        command: what prints it
        form: its type, from which the schema is made
        before: keys by which a result is known that was written before there was a schema; empty where all have one
    """

    name: str
    command: str
    form: Any
    before: frozenset[str] = frozenset()

    @property
    def module(self) -> str:
        """The name of its file."""
        return self.name.replace("-", "_")


def kinds() -> list[str]:
    """The names of all kinds, in alphabetical order; none of them is imported.

    >>> "describe" in kinds(), "validate-diff" in kinds()
    (True, True)
    """
    return [name.replace("_", "-") for name in registry.names("ordinate.results") if name not in _MACHINERY]


def find(name: object) -> Kind:
    """The kind of this name.

    Raises:
        InputError: there is none; the message suggests the nearest
    """
    choices = kinds()
    if not isinstance(name, str) or name not in choices:
        raise InputError(f"unknown kind of result {name!r:.60}{registry.suggestion(name, choices)}")
    module = import_module(f"ordinate.results.{name.replace('-', '_')}")
    return Kind(name, module.COMMAND, module.FORM, frozenset(getattr(module, "BEFORE", ())))
