"""A folder is a registry: a file's name is the name of the class in it."""

import difflib
import importlib
import pkgutil
from collections.abc import Sequence
from typing import Any

from ordinate.errors import InputError


def names(package: str) -> list[str]:
    """The registered names in a package: its module names, without `base`, in alphabetical order.

    Nothing is imported but the package itself.
    """
    path = importlib.import_module(package).__path__
    return sorted(m.name for m in pkgutil.iter_modules(path) if m.name != "base" and not m.name.startswith("_"))


def suggestion(name: object, choices: Sequence[str]) -> str:
    """'; did you mean X?' where a choice is close, and the choices."""
    close = difflib.get_close_matches(str(name), choices, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{hint} (choices: {', '.join(choices)})"


def lookup(package: str, name: str, thing: str) -> Any:
    """Import the module `name` of `package` and return the class in it that carries this name.

    Where `name` is a package itself, the class may stand in any of its modules and be imported into it.

    Raises:
        InputError: no module has this name; the message suggests the nearest.
        LookupError: the module holds no class, or several, whose `name` is its own name (a fault in the package).
    """
    choices = names(package)
    if name not in choices:
        raise InputError(f"unknown {thing} {name!r}{suggestion(name, choices)}")
    module = importlib.import_module(f"{package}.{name}")
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and f"{value.__module__}.".startswith(f"{module.__name__}.")
        and vars(value).get("name") == name
    ]
    if len(found) != 1:
        raise LookupError(f"{module.__name__} must define one class with name = {name!r}, found {len(found)}")
    return found[0]
