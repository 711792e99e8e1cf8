"""The engines there are: the dialects that write and interpret, found by name."""

import importlib

from ordinate.dialects.base import Dialect
from ordinate.errors import InputError
from ordinate.registry import lookup, names, suggestion

PACKAGE = "ordinate.dialects"


def engines() -> list[str]:
    """The engines' names; a module of dialects that only reads files is none.

    >>> {"huggingface", "vllm"} <= set(engines())
    True
    """
    return [name for name in names(PACKAGE) if _has_engine(name)]


def engine(name: str) -> Dialect:
    """The engine of a name.

    Raises:
        InputError: there is none; the message suggests the nearest
    """
    found = engines()
    if name not in found:
        raise InputError(f"unknown engine {name!r}{suggestion(name, found)}")
    return lookup(PACKAGE, name, "engine")()


def _has_engine(name: str) -> bool:
    module = importlib.import_module(f"{PACKAGE}.{name}")
    return any(
        isinstance(value, type) and issubclass(value, Dialect) and vars(value).get("name") == name
        for value in vars(module).values()
    )
