"""How checks are named: as they are typed and printed, whether of a model or of a server."""

from typing import Any

from ordinate import registry
from ordinate.errors import InputError


def identifier(name: str) -> str:
    """A check's name as it is typed and printed; its file has "_" where this has "-"."""
    return name.replace("_", "-")


def check_named(package: str, name: str, thing: str) -> str:
    """The identifier of a check in a package; no check is imported.

    Raises:
        InputError: there is none; the message suggests the nearest
    """
    identifiers = [identifier(one) for one in registry.names(package)]
    wanted = identifier(name)
    if wanted not in identifiers:
        raise InputError(f"unknown {thing} {wanted!r}{registry.suggestion(wanted, identifiers)}")
    return wanted


def check_class(package: str, name: str, thing: str) -> Any:
    """The class of a check in a package, by its name with "-" or "_" in it.

    Raises:
        InputError: there is none; the message suggests the nearest
    """
    return registry.lookup(package, check_named(package, name, thing).replace("-", "_"), thing)
