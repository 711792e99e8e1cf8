"""How the numbers of a cache are kept: a type a file, the file's name is the name of the storage."""

from typing import Any

from ordinate.caches.storage.base import Index, Parts, Storage
from ordinate.registry import lookup, names

__all__ = ["Index", "Parts", "Storage", "storage", "storages"]


def storages() -> list[str]:
    """The names of all storages, in alphabetical order.

    >>> storages()
    ['bfloat16', 'float16', 'float32', 'fp8', 'int4', 'int8']
    """
    return names(__name__)


def storage(name: str, **settings: Any) -> Storage:
    """The storage with this name.

    Args:
        name: one of `storages()`
        settings: `block` and `scales` of those that have a scale a block (`BlockScaled`); the others have none

    Raises:
        InputError: another name, a setting that the storage does not have, or a value out of range

    >>> storage("int8", block=32).bytes_per_head(128)
    144
    """
    found: type[Storage] = lookup(__name__, name, "storage")
    return found.with_settings(settings)
