"""A record of a model's name, from its data file."""

from importlib.resources.abc import Traversable
from typing import Protocol, TypeVar

import msgspec

from ordinate.errors import InputError, Unavailable
from ordinate.registry import suggestion


class _Record(Protocol):
    @property
    def name(self) -> str: ...


Record = TypeVar("Record", bound=_Record)


def load(root: Traversable, name: str, choices: list[str], form: type[Record]) -> Record:
    """Read `NAME.json` of a folder.

    Raises:
        InputError: no model has this name; the message suggests the nearest
        Unavailable: its file is damaged
    """
    if name not in choices:
        raise InputError(f"unknown model {name!r}{suggestion(name, choices)}")
    file = root / f"{name}.json"
    try:
        record = msgspec.json.decode(file.read_bytes(), type=form)
    except msgspec.DecodeError as error:
        raise Unavailable(f"{file} is damaged: {error}; reinstall ordinate") from error
    if record.name != name:
        raise Unavailable(f"{file} is damaged: it describes {record.name!r}; reinstall ordinate")
    return record
