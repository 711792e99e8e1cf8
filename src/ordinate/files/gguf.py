"""GGUF files, versions 2 and 3: metadata, and where the tensors lie."""

import itertools
import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ordinate.errors import InputError, got
from ordinate.files.gguf_values import ARRAY, MAXIMUM_HEADER_BYTES, MAXIMUM_NAME_BYTES, Cursor, GgufArray
from ordinate.files.regular import FileIdentity, identity, open_regular
from ordinate.files.tensor_types import TYPES, bytes_of

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAXIMUM_KEYS = 2**16
MAXIMUM_TENSORS = 2**17
MAXIMUM_DIMENSIONS = 4
DEFAULT_ALIGNMENT = 32


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Where one tensor of a GGUF file lies, and how it is stored.

    Args:
        name: its name in the file.
        shape: in NumPy's order, rows last: the file's dimensions reversed.
        type_name: the format's name for how it is stored: "F32", "Q4_1", ...
        offset: its first byte, from the beginning of the file.
        nbytes: its length [byte].
    """

    name: str
    shape: tuple[int, ...]
    type_name: str
    offset: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class GgufFile:
    """What a GGUF file says about itself; no resource is held open.

    Args:
        version: the format's version, 2 or 3.
        alignment: tensors begin at multiples of it [byte].
        metadata: values by key: int, float (not always finite), bool, str, or `GgufArray`.
        tensors: by name, in the file's order.
        file: which file was read, for later reads of its parts.
    """

    version: int
    alignment: int
    metadata: dict[str, Any]
    tensors: dict[str, TensorInfo]
    file: FileIdentity

    @property
    def path(self) -> Path:
        """The file's path, as it was given."""
        return self.file.path


def read_gguf(path: str | os.PathLike[str]) -> GgufFile:
    """Read the header of a GGUF file; every length in it is checked against the file before it is used.

    Args:
        path: the file, little-endian, version 2 or 3.

    Returns:
        Its metadata and the places of its tensors. Arrays are `GgufArray`, read when asked for. Floats may be
        NaN or infinite: whoever reads a key checks it with `ordinate.errors.finite`.

    Raises:
        InputError: not a GGUF file, truncated, a name that stands twice, tensors outside the file or over each
            other, or beyond a bound (65,536 keys, 131,072 tensors, 256 MiB of header).

    Source: the GGUF specification, github.com/ggml-org/ggml, docs/gguf.md.
    """
    with open_regular(path) as handle:
        file = identity(handle, path)
        start = handle.read(len(MAGIC))
        if not start:
            raise InputError(f"{os.fspath(path)} is empty, and must be a GGUF file")
        if start != MAGIC:
            raise InputError(f"{os.fspath(path)} is not a GGUF file: it must begin with {MAGIC!r}, got {start!r}")
        return _read_header(handle, file)


def _read_header(handle: BinaryIO, file: FileIdentity) -> GgufFile:
    end = min(file.size, MAXIMUM_HEADER_BYTES)
    try:
        mapped = mmap.mmap(handle.fileno(), end, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise InputError(f"{file.path} cannot be mapped into memory: {error}") from None
    with mapped, memoryview(mapped) as view:
        cursor = Cursor(view, end, file.path, len(MAGIC))
        version = cursor.number("<I", "the version")
        if version not in VERSIONS:
            if version & 0xFFFF == 0 and version:
                raise InputError(f"{file.path} is a big-endian GGUF file, only little-endian ones are read")
            raise InputError(f"{file.path} must be GGUF version 2 or 3, got {version}")
        tensor_count = _count(cursor, "tensors", MAXIMUM_TENSORS, 24)
        key_count = _count(cursor, "keys", MAXIMUM_KEYS, 13)
        metadata = _read_metadata(cursor, key_count, file)
        alignment = _alignment(metadata, file)
        tensors = _read_tensors(cursor, tensor_count, alignment, file)
    return GgufFile(version, alignment, metadata, tensors, file)


def _count(cursor: Cursor, things: str, maximum: int, least_bytes: int) -> int:
    count = cursor.number("<Q", f"the number of {things}")
    if count > maximum:
        raise InputError(f"{cursor.path} declares {count} {things}, at most {maximum} are read")
    cursor.require(count * least_bytes, f"the table of {count} {things}")
    return count


def _read_metadata(cursor: Cursor, count: int, file: FileIdentity) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    for number in range(count):
        key = cursor.string(MAXIMUM_NAME_BYTES, f"key number {number}")
        what = f"key {got(key)}"
        if key in metadata:
            raise InputError(f"{cursor.path} has the duplicate {what}: which one counts is unknown")
        kind = cursor.kind(what)
        if kind != ARRAY:
            metadata[key] = cursor.value(kind, what)
            continue
        kind, length = cursor.array_head(what)
        start = cursor.offset
        cursor.skip_elements(kind, length, what)
        metadata[key] = GgufArray(key, kind, length, start, cursor.offset, file)
    return metadata


def _alignment(metadata: dict[str, Any], file: FileIdentity) -> int:
    value = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or value & (value - 1):
        raise InputError(f"{file.path}: general.alignment must be a power of two, got {got(value)}")
    return value


def _read_tensors(cursor: Cursor, count: int, alignment: int, file: FileIdentity) -> dict[str, TensorInfo]:
    relative: list[TensorInfo] = []
    names: set[str] = set()
    for number in range(count):
        info = _read_tensor_info(cursor, number)
        if info.name in names:
            raise InputError(f"{file.path} has the duplicate tensor {got(info.name)}: which one counts is unknown")
        names.add(info.name)
        relative.append(info)
    # Tensor data begins at the first aligned byte after the header, and offsets count from there.
    start = -(-cursor.offset // alignment) * alignment
    tensors: dict[str, TensorInfo] = {}
    for info in relative:
        if info.offset % alignment:
            raise InputError(
                f"{file.path}: tensor {got(info.name)} must begin at a multiple of {alignment} bytes, got {info.offset}"
            )
        offset = start + info.offset
        if offset + info.nbytes > file.size:
            raise InputError(
                f"{file.path} is truncated or not sound: tensor {got(info.name)} lies at bytes {offset} to "
                f"{offset + info.nbytes}, and the file ends at {file.size}"
            )
        tensors[info.name] = TensorInfo(info.name, info.shape, info.type_name, offset, info.nbytes)
    _check_overlap(tensors, file)
    return tensors


def _read_tensor_info(cursor: Cursor, number: int) -> TensorInfo:
    name = cursor.string(MAXIMUM_NAME_BYTES, f"the name of tensor number {number}")
    what = f"tensor {got(name)}"
    dimensions = cursor.number("<I", f"the number of dimensions of {what}")
    if dimensions > MAXIMUM_DIMENSIONS:
        raise InputError(f"{cursor.path}: {what} declares {dimensions} dimensions, at most {MAXIMUM_DIMENSIONS} exist")
    shape = tuple(cursor.number("<Q", f"the dimensions of {what}") for _ in range(dimensions))[::-1]
    if 0 in shape:
        raise InputError(f"{cursor.path}: {what} has no values, its shape is {shape}")
    type_number = cursor.number("<I", f"the type of {what}")
    if type_number not in TYPES:
        raise InputError(f"{cursor.path}: {what} has the unknown tensor type {type_number}")
    tensor_type = TYPES[type_number]
    offset = cursor.number("<Q", f"the offset of {what}")
    return TensorInfo(name, shape, tensor_type.name, offset, bytes_of(tensor_type, shape, f"{cursor.path}: {what}"))


def _check_overlap(tensors: dict[str, TensorInfo], file: FileIdentity) -> None:
    ordered = sorted(tensors.values(), key=lambda info: info.offset)
    for before, after in itertools.pairwise(ordered):
        if before.offset + before.nbytes > after.offset:
            raise InputError(f"{file.path}: tensors {got(before.name)} and {got(after.name)} lie over each other")
