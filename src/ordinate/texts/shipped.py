"""The texts that ship with the package: a folder a collection, bzip2 files beside their `provenance.json`."""

import bz2
import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec

from ordinate.errors import InputError, Unavailable
from ordinate.registry import suggestion
from ordinate.texts.text import Provenance, Text


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `provenance.json` says of one text; `bytes` and `characters` are counts, `body` is [start, end)."""

    name: str
    title: str
    author: str
    year: int
    gutenberg: int
    data_set: str
    sha256: str
    bytes: int
    characters: int
    lines: int
    body: tuple[int, int]
    changes: tuple[str, ...]
    kept: tuple[str, ...]


class Collection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `provenance.json` says: where the collection was taken from, and its texts."""

    collection: str
    source: str
    source_sha256: str
    upstream: str
    licence: str
    made_by: str
    texts: tuple[Record, ...]


def names() -> list[str]:
    """The names of the shipped texts, in alphabetical order.

    >>> names()[:2]
    ['emma', 'mansfield_park']
    """
    return sorted(record.name for _, collection in read_collections(_root()) for record in collection.texts)


def read(name: str) -> Text:
    """Return a shipped text, after its sha256 was compared with the recorded one.

    Args:
        name: one of `names()`.

    Raises:
        InputError: no shipped text has this name; the message suggests the nearest.
        Unavailable: the installed file is absent or damaged.

    >>> read("emma").body[:39]
    'Emma Woodhouse, handsome, clever, and r'
    """
    return read_from(_root(), name)


def read_from(root: Traversable, name: str) -> Text:
    """As `read`, out of the folder of collections `root`."""
    found = {
        record.name: (folder, collection, record)
        for folder, collection in read_collections(root)
        for record in collection.texts
    }
    if name not in found:
        raise InputError(f"unknown text {name!r}{suggestion(name, sorted(found))}")
    folder, collection, record = found[name]
    file = folder / f"{name}.txt.bz2"
    if not file.is_file():
        raise Unavailable(f"the shipped text {name!r} is not installed: {file} is absent; reinstall ordinate")
    return Text(
        name=name,
        title=record.title,
        author=record.author,
        year=record.year,
        text=unpack(file.read_bytes(), record),
        sha256=record.sha256,
        provenance=Provenance(
            source=f"{collection.source}, data set {record.data_set} ({collection.upstream})",
            licence=collection.licence,
            gutenberg=record.gutenberg,
            changes=record.changes,
            kept=record.kept,
        ),
        span=record.body,
    )


def read_collections(root: Traversable) -> list[tuple[Traversable, Collection]]:
    """The folders in `root` that hold a `provenance.json`, each with what it says.

    Raises:
        Unavailable: a `provenance.json` is damaged.
    """
    collections = []
    for folder in sorted(root.iterdir(), key=lambda entry: entry.name):
        file = folder / "provenance.json"
        if not file.is_file():
            continue
        try:
            collections.append((folder, msgspec.json.decode(file.read_bytes(), type=Collection)))
        except msgspec.DecodeError as error:
            raise Unavailable(f"{file} is damaged: {error}; reinstall ordinate") from error
    return collections


def unpack(packed: bytes, record: Record) -> str:
    """Decompress a text and compare it with its record; no more than the recorded bytes, and one, are ever unpacked.

    Raises:
        Unavailable: the data is no bzip2 stream, is cut short, or has another length or sha256 than was recorded.
    """
    damaged = f"the shipped text {record.name!r} is damaged, reinstall ordinate"
    try:
        data = bz2.BZ2Decompressor().decompress(packed, max_length=record.bytes + 1)
    except OSError as error:
        raise Unavailable(f"{damaged}: {error}") from error
    if len(data) != record.bytes:
        received = "more" if len(data) > record.bytes else len(data)
        raise Unavailable(f"{damaged}: it must hold {record.bytes} bytes, got {received}")
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 != record.sha256:
        raise Unavailable(f"{damaged}: its sha256 must be {record.sha256}, got {sha256}")
    return data.decode("utf-8")


def _root() -> Traversable:
    return files("ordinate.texts")
