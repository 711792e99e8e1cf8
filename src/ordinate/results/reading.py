"""A result as it was written, by this version or an earlier one."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ordinate.errors import InputError, got
from ordinate.files.json import parse_object
from ordinate.results.kinds import Kind, find, kinds
from ordinate.results.publication import keys
from ordinate.schema import SCHEMA_VERSION, beginning

LARGEST = 64 * 2**20
"""A file of more bytes is no result of a command."""
MOST_KEYS = 1_000_000
"""A file of more keys, those of inner objects included, is none either."""

_NEEDED = "a result must be a file that a command wrote with --format json, or the folder of a run"


def read(document: Any) -> dict[str, Any]:
    """A result in the form of this version's schema.

    Results that were written before there was a schema have no kind; they are known by their keys and get one.

    Args:
        document: what a command printed, decoded from JSON

    Returns:
        The same result with `schema_version` and `kind`

    Raises:
        InputError: no result; of an unknown kind; of another version of the schema; or not of its kind's form. The
            message names the version and the command that writes the result anew. Keys that its form does not have
            and numbers that are not finite are refused with their place
    """
    if not isinstance(document, Mapping):
        raise InputError(f"a result must be an object with a kind, got {got(document)}")
    kind, given = (find(document["kind"]), dict(document)) if "kind" in document else _older(document)
    version = given.get("schema_version")
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise InputError(
            f"this result of kind {kind.name!r} has schema version {got(version)}, and this version of Ordinate reads "
            f"{SCHEMA_VERSION}: write it again with `{kind.command}`"
        )
    try:
        _compare(given, msgspec.convert(given, kind.form), "$")
    except msgspec.ValidationError as error:
        raise InputError(
            f"this is not a result of kind {kind.name!r} as `{kind.command}` writes it: {error}"
        ) from error
    if kind.name == "report":
        given["results"] = [_inner(one, number) for number, one in enumerate(given["results"], 1)]
    return given


def read_file(path: Path) -> dict[str, Any]:
    """A result from a file of JSON.

    Raises:
        InputError: no file that can be read, no JSON object within bounds, a key that stands twice in one, or no
            result; the message names the file
    """
    # Not only as much as the file says it has: a pipe or a device says nothing.
    try:
        with path.open("rb") as handle:
            data = handle.read(LARGEST + 1)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist: {_NEEDED}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): {_NEEDED}") from None
    document = parse_object(data, name=str(path), maximum_bytes=LARGEST, maximum_keys=MOST_KEYS)
    try:
        return read(document)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _inner(document: Any, number: int) -> dict[str, Any]:
    try:
        return read(document)
    except InputError as error:
        raise InputError(f"result {number}: {error}") from error


def _compare(given: Any, held: Any, place: str) -> None:
    """Refuse what a form does not hold; msgspec itself lets dataclasses overlook keys, and takes NaN from Python.

    Args:
        given: a value of the result
        held: the same in its form
        place: where it stands

    Raises:
        ValidationError: a key that the form does not have, or a number that is not finite, with its place
    """
    if isinstance(given, Mapping):
        parts = list(held.values()) if isinstance(held, Mapping) else _parts(given, held, place)
        for (name, one), part in zip(given.items(), parts, strict=True):
            _compare(one, part, f"{place}.{name}")
    elif isinstance(given, list | tuple):
        for index, (one, part) in enumerate(zip(given, held, strict=True)):
            _compare(one, part, f"{place}[{index}]")
    elif isinstance(given, float) and not math.isfinite(given):
        raise msgspec.ValidationError(f"Expected a finite number, got `{given}` - at `{place}`")


def _parts(given: Mapping[str, Any], held: Any, place: str) -> list[Any]:
    fields = {key: field for field, key in keys(type(held)).items()}
    for name in given:
        if name not in fields:
            raise msgspec.ValidationError(f"Object contains unknown field `{name}` - at `{place}`")
    return [getattr(held, fields[name]) for name in given]


def _older(document: Mapping[str, Any]) -> tuple[Kind, dict[str, Any]]:
    """A result from before the schema: its kind by its keys, and the result with both of its first keys."""
    # A kind whose keys are among another's is the less likely one.
    for kind in sorted(map(find, kinds()), key=lambda one: -len(one.before)):
        if kind.before and kind.before <= document.keys() and document.get("schema_version", 1) == 1:
            rest = {name: value for name, value in document.items() if name not in ("schema_version", "version")}
            if "version" not in kind.before and "version" in document:
                rest["version"] = document["version"]
            return kind, {**beginning(kind.name), **rest}
    raise InputError(f"a result must be an object with a kind, got {got(dict(document))}")
