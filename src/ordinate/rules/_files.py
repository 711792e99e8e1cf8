"""The files of a model's directory, each read when it is asked for, within bounds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ordinate.errors import InputError
from ordinate.files.json import parse_object
from ordinate.files.regular import FileIdentity, open_regular, read_range
from ordinate.rules._places import lines_by_key

MAXIMUM_JSON_BYTES = 8 * 2**20
MAXIMUM_JSON_KEYS = 100_000
# A model's own header is below 2 MiB; what is larger costs more memory than a linter may take.
MAXIMUM_HEADER_BYTES = 4 * 2**20
MAXIMUM_HEADERS_BYTES = 16 * 2**20
MAXIMUM_SHARDS = 512
POSITIONAL = ("freq", "cos", "sin", "pos", "wpe", "rope", "rotary")
MAXIMUM_TABLE_BYTES = 2**20
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


@dataclass(frozen=True)
class Stored:
    """A tensor as a file has it; `values` where it was given, `file` and its bytes where it can be read."""

    dtype: str
    shape: tuple[int, ...]
    file: FileIdentity | None = None
    start: int = 0
    end: int = 0
    given: tuple[float, ...] | None = None

    def values(self) -> np.ndarray | None:
        """Its values, float64, or None where it is large, packed, or gone."""
        if self.given is not None:
            return np.asarray(self.given, dtype=np.float64)
        if self.file is None or self.dtype not in DTYPES or self.end - self.start > MAXIMUM_TABLE_BYTES:
            return None
        try:
            data = read_range(self.file, self.start, self.end).view(DTYPES[self.dtype])
        except InputError:
            return None
        if self.dtype == "BF16":
            data = (data.astype(np.uint32) << 16).view(np.float32)
        return data.astype(np.float64)


@dataclass
class Files:
    """What stands in a directory; absent and unreadable files are None, and the latter have their reason in `errors`.

    Args:
        directory: where to look, or None where everything is given
        given: JSON objects by file name, in place of a directory
        given_tensors: tensors by name, likewise
    """

    directory: Path | None = None
    given: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    given_tensors: Mapping[str, Stored] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)
    _values: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)
    _tensors: dict[str, Stored] | None = None
    _lines: dict[str, Mapping[str, int]] = field(default_factory=dict)
    _header_bytes: int = 0

    def values(self, name: str) -> Mapping[str, Any] | None:
        """A JSON object of the directory."""
        if name in self.given:
            return self.given[name]
        if name not in self._values:
            self._values[name] = self._read(name)
        return self._values[name]

    def _read(self, name: str) -> Mapping[str, Any] | None:
        if self.directory is None or not (self.directory / name).is_file():
            return None
        try:
            self.texts[name] = read_text(self.directory / name)
            return parse_object(
                self.texts[name], name=name, maximum_bytes=MAXIMUM_JSON_BYTES, maximum_keys=MAXIMUM_JSON_KEYS
            )
        except InputError as error:
            self.errors[name] = str(error)
            return None

    def lines(self, name: str) -> Mapping[str, int]:
        """The lines of the keys of a file that was read."""
        if name not in self._lines:
            self._lines[name] = lines_by_key(self.texts.get(name, b""))
        return self._lines[name]

    def tensors(self) -> Mapping[str, Stored]:
        """The tensors of the directory's safetensors files that have to do with position by their name."""
        if self.given_tensors or self.directory is None:
            return self.given_tensors
        if self._tensors is None:
            self._tensors = {}
            for path in sorted(self.directory.glob("*.safetensors"))[:MAXIMUM_SHARDS]:
                self._add(path, self._tensors)
        return self._tensors

    def _add(self, path: Path, tensors: dict[str, Stored]) -> None:
        from ordinate.files.safetensors import read_header

        try:
            with open_regular(path) as handle:
                length = int.from_bytes(handle.read(8), "little")
            self._header_bytes += length
            if length > MAXIMUM_HEADER_BYTES or self._header_bytes > MAXIMUM_HEADERS_BYTES:
                raise InputError(
                    f"{path.name} has a header of {length} bytes; at most {MAXIMUM_HEADER_BYTES} are read in one file, "
                    f"{MAXIMUM_HEADERS_BYTES} in all"
                )
            header = read_header(path)
        except InputError as error:
            self.errors[path.name] = str(error)
            return
        for name, tensor in header.tensors.items():
            if any(word in name for word in POSITIONAL):
                tensors[name] = Stored(tensor.dtype, tensor.shape, header.file, tensor.start, tensor.end)


def read_text(path: Path) -> bytes:
    """The bytes of a file, one more than are accepted at most."""
    with open_regular(path) as handle:
        return handle.read(MAXIMUM_JSON_BYTES + 1)
