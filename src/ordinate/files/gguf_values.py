"""The values in a GGUF header: a cursor that never passes the end, and arrays that wait until they are asked for."""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ordinate.errors import InputError, got
from ordinate.files.regular import FileIdentity, read_range

MAXIMUM_HEADER_BYTES = 256 * 2**20
# A whole tokenizer.json stands in one string of some files ("tokenizer.huggingface.json").
MAXIMUM_STRING_BYTES = 64 * 2**20
MAXIMUM_NAME_BYTES = 2**16 - 1
MAXIMUM_NESTING = 4
# Strings and inner arrays have to be stepped over one by one: this bounds the steps of a whole file.
MAXIMUM_STEPS = 2**22

STRING, ARRAY = "string", "array"
_BOOL = "bool"
# By the number that the file carries; a number's layout, for the other two the least bytes that one takes.
_KINDS = {
    0: ("uint8", "<B", 1),
    1: ("int8", "<b", 1),
    2: ("uint16", "<H", 2),
    3: ("int16", "<h", 2),
    4: ("uint32", "<I", 4),
    5: ("int32", "<i", 4),
    6: ("float32", "<f", 4),
    7: (_BOOL, "<B", 1),
    8: (STRING, "", 8),
    9: (ARRAY, "", 12),
    10: ("uint64", "<Q", 8),
    11: ("int64", "<q", 8),
    12: ("float64", "<d", 8),
}
_LAYOUT = {name: layout for name, layout, _ in _KINDS.values()}
_LEAST_BYTES = {name: least for name, _, least in _KINDS.values()}


class Cursor:
    """A place in the bytes of a GGUF header, which moves forward and refuses to pass their end.

    Args:
        data: the header's bytes, or more.
        end: where the bytes end that may be read.
        path: the file, for messages.
        offset: where to begin.
    """

    def __init__(self, data: Any, end: int, path: str | os.PathLike[str], offset: int = 0) -> None:
        self.data = data
        self.end = end
        self.path = os.fspath(path)
        self.offset = offset
        self.steps = MAXIMUM_STEPS

    def require(self, count: int, what: str) -> None:
        """Raise `InputError` unless `count` more bytes are there."""
        remaining = self.end - self.offset
        if count > remaining:
            limit = "the header may hold" if self.end == MAXIMUM_HEADER_BYTES else "the file holds"
            raise InputError(
                f"{self.path} is truncated or not sound: {what} at byte {self.offset} takes {count} bytes, "
                f"and {limit} {remaining} more"
            )

    def number(self, layout: str, what: str) -> Any:
        """Read one number, whose layout is written as in `struct`."""
        size = struct.calcsize(layout)
        self.require(size, what)
        (value,) = struct.unpack_from(layout, self.data, self.offset)
        self.offset += size
        return value

    def string(self, maximum: int, what: str) -> str:
        """Read one string of at most `maximum` bytes: its length, then UTF-8."""
        length = self.number("<Q", f"the length of {what}")
        if length > maximum:
            raise InputError(f"{self.path}: {what} declares {length} bytes, at most {maximum} are read")
        self.require(length, what)
        start, self.offset = self.offset, self.offset + length
        return _decode(bytes(self.data[start : self.offset]), self.path, what)

    def kind(self, what: str) -> str:
        """Read the name of a value's type."""
        number = self.number("<I", f"the type of {what}")
        if number not in _KINDS:
            raise InputError(f"{self.path}: {what} has the unknown value type {number}")
        return _KINDS[number][0]

    def value(self, kind: str, what: str) -> Any:
        """Read one value that is not an array."""
        if kind == STRING:
            return self.string(MAXIMUM_STRING_BYTES, what)
        value = self.number(_LAYOUT[kind], what)
        if kind == _BOOL:
            if value > 1:
                raise InputError(f"{self.path}: {what} must be 0 or 1 as a bool, got {value}")
            return bool(value)
        return value

    def array_head(self, what: str) -> tuple[str, int]:
        """Read an array's element type and length, and check the length against the bytes that remain."""
        kind = self.kind(f"the elements of {what}")
        count = self.number("<Q", f"the length of {what}")
        self.require(count * _LEAST_BYTES[kind], f"{what}, an array of {count} elements of type {kind},")
        return kind, count

    def skip_elements(self, kind: str, count: int, what: str, nesting: int = 1) -> None:
        """Step over an array's elements, with every length in them checked."""
        if nesting > MAXIMUM_NESTING:
            raise InputError(f"{self.path}: {what} nests arrays deeper than {MAXIMUM_NESTING} levels")
        if kind not in (STRING, ARRAY):
            self.offset += count * _LEAST_BYTES[kind]
            return
        if count > self.steps:
            raise InputError(f"{self.path}: arrays hold more than {MAXIMUM_STEPS} strings and inner arrays in all")
        self.steps -= count
        if kind == ARRAY:
            for _ in range(count):
                inner, inner_count = self.array_head(what)
                self.skip_elements(inner, inner_count, what, nesting + 1)
            return
        length_at, data, offset, end = struct.Struct("<Q").unpack_from, self.data, self.offset, self.end
        for _ in range(count):
            # The same two checks as in `string`, written out: this loop runs 100,000 times in an ordinary file.
            if end - offset < 8:
                break
            (length,) = length_at(data, offset)
            if length > end - offset - 8:
                break
            offset += 8 + length
        else:
            self.offset = offset
            return
        self.offset = offset
        self.string(MAXIMUM_STRING_BYTES, f"a string in {what}")

    def elements(self, kind: str, count: int, what: str) -> Any:
        """Read an array's elements: an array of numbers, or a list of strings or of inner arrays."""
        if kind == STRING:
            return [self.string(MAXIMUM_STRING_BYTES, f"a string in {what}") for _ in range(count)]
        if kind == ARRAY:
            return [self.elements(*self.array_head(what), what) for _ in range(count)]
        layout = np.dtype(_LAYOUT[kind])
        values = np.frombuffer(self.data, layout, count, self.offset)
        self.offset += values.nbytes
        if kind != _BOOL:
            return values.astype(layout.newbyteorder("="))
        if (values > 1).any():
            raise InputError(f"{self.path}: {what} must hold 0 or 1 as bools, got {values.max()}")
        return values.astype(bool)


@dataclass(frozen=True, slots=True)
class GgufArray:
    """An array in a GGUF header, whose bounds are checked and whose elements are read when asked for.

    `len()` gives the number of elements without reading them; iteration gives them as Python values.

    Args:
        key: its key in the metadata.
        kind: its elements' type: "uint8" ... "float64", "bool", "string" or "array".
        count: the number of its elements.
        start: its first element's first byte in the file.
        end: the byte after its last.
        file: the file that it was found in.
    """

    key: str
    kind: str
    count: int
    start: int
    end: int
    file: FileIdentity

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Any]:
        values = self.load()
        return iter(values.tolist() if isinstance(values, np.ndarray) else values)

    def load(self) -> Any:
        """Read the elements: `[count]` in the type of the file for numbers, a list for strings and inner arrays.

        Raises:
            InputError: the file is gone or was changed since, or a string is not UTF-8.
        """
        data = read_range(self.file, self.start, self.end).data
        return Cursor(data, len(data), self.file.path).elements(self.kind, self.count, f"key {got(self.key)}")


def _decode(data: bytes, path: str, what: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {what} must be UTF-8, and its byte {error.start} is not") from None
