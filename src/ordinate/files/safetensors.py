"""The header of a safetensors file: names, types, shapes, and where the bytes lie."""

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ordinate.errors import InputError, got
from ordinate.files.json import parse_object
from ordinate.files.regular import FileIdentity, identity, open_regular

MAXIMUM_HEADER_BYTES = 100_000_000
MAXIMUM_HEADER_KEYS = 1_000_000
MAXIMUM_DIMENSIONS = 64
_LENGTH_BYTES = 8
# Bits of one value.
BITS = {
    "BOOL": 8,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "U8": 8,
    "I8": 8,
    "F8_E5M2": 8,
    "F8_E4M3": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "C64": 64,
    "F64": 64,
    "I64": 64,
    "U64": 64,
}


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """Where one tensor of a safetensors file lies, and how it is stored.

    Args:
        name: its name in the file.
        dtype: the format's name of its type: "F32", "BF16", ...
        shape: rows last.
        start: its first byte, from the beginning of the file.
        end: the byte after its last.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SafetensorsHeader:
    """What a safetensors file says about itself; no resource is held open.

    Args:
        tensors: by name, in the header's order.
        metadata: its `__metadata__`, strings by name; empty where the file has none.
        file: which file was read, for later reads of its parts.
    """

    tensors: dict[str, StoredTensor]
    metadata: dict[str, str]
    file: FileIdentity

    @property
    def path(self) -> Path:
        """The file's path, as it was given."""
        return self.file.path


def read_header(path: str | os.PathLike[str]) -> SafetensorsHeader:
    """Read the header of a safetensors file, and check that its tensors fill the file without hole or overlap.

    Args:
        path: the file.

    Returns:
        Its tensors and metadata.

    Raises:
        InputError: not a safetensors file, truncated, a header above 100 MB, a key that stands twice, an
            unknown type, a size that is not type times shape, a hole, an overlap, or bytes outside the file.

    Source: the safetensors format, github.com/huggingface/safetensors, README.
    Differs from the source: keys that stand twice are refused here, as the format says; its library accepts them.
    """
    with open_regular(path) as handle:
        file = identity(handle, path)
        prefix = handle.read(_LENGTH_BYTES)
        if not prefix:
            raise InputError(f"{file.path} is empty, and must be a safetensors file")
        if len(prefix) < _LENGTH_BYTES:
            raise InputError(
                f"{file.path} is truncated: a safetensors file begins with {_LENGTH_BYTES} bytes of length"
            )
        length = int.from_bytes(prefix, "little")
        if length > MAXIMUM_HEADER_BYTES:
            raise InputError(
                f"{file.path} declares a header of {length} bytes, at most {MAXIMUM_HEADER_BYTES} are read "
                "(is it a safetensors file?)"
            )
        if length > file.size - _LENGTH_BYTES:
            raise InputError(
                f"{file.path} is truncated: its header takes {length} bytes, and the file holds "
                f"{file.size - _LENGTH_BYTES} more"
            )
        data = handle.read(length)
    if not data.startswith(b"{"):
        raise InputError(f"{file.path} is not a safetensors file: its header must begin with '{{', got {data[:1]!r}")
    table = parse_object(
        data,
        name=f"the header of {file.path}",
        maximum_bytes=MAXIMUM_HEADER_BYTES,
        maximum_keys=MAXIMUM_HEADER_KEYS,
    )
    metadata = table.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise InputError(f"{file.path}: __metadata__ must hold strings by name, got {got(metadata)}")
    begin = _LENGTH_BYTES + length
    tensors = {name: _stored_tensor(name, entry, begin, file) for name, entry in table.items()}
    _check_fills(tensors, begin, file)
    return SafetensorsHeader(tensors, metadata, file)


def _stored_tensor(name: str, entry: Any, begin: int, file: FileIdentity) -> StoredTensor:
    what = f"{file.path}: tensor {got(name)}"
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise InputError(f"{what} must have dtype, shape and data_offsets, and no more, got {got(entry)}")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in BITS:
        raise InputError(f"{what} has the unknown type {got(dtype)}, known are {', '.join(BITS)}")
    if not _are_sizes(shape) or len(shape) > MAXIMUM_DIMENSIONS:
        raise InputError(f"{what} must have at most {MAXIMUM_DIMENSIONS} integers >= 0 as its shape, got {got(shape)}")
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise InputError(f"{what} must have a first and a last offset, in this order, got {got(offsets)}")
    bits = math.prod(shape) * BITS[dtype]
    if bits % 8:
        raise InputError(f"{what} must take whole bytes, got {bits} bits for {dtype} of shape {got(shape)}")
    if offsets[1] - offsets[0] != bits // 8:
        raise InputError(
            f"{what} must take {got(bits // 8)} bytes for {dtype} of shape {got(shape)}, "
            f"got {offsets[1] - offsets[0]} from its offsets"
        )
    return StoredTensor(name, dtype, tuple(shape), begin + offsets[0], begin + offsets[1])


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**63 for value in values)


def _check_fills(tensors: dict[str, StoredTensor], begin: int, file: FileIdentity) -> None:
    place = begin
    for tensor in sorted(tensors.values(), key=lambda tensor: (tensor.start, tensor.end)):
        if tensor.start != place:
            fault = "a hole" if tensor.start > place else "an overlap"
            raise InputError(
                f"{file.path}: tensor {got(tensor.name)} must begin at byte {place}, where the one before it ends, "
                f"got {tensor.start}: {fault}"
            )
        place = tensor.end
    if place > file.size:
        raise InputError(f"{file.path} is truncated: its tensors end at byte {place}, the file at {file.size}")
    if place < file.size:
        raise InputError(f"{file.path} has a hole: its tensors end at byte {place}, the file at {file.size}")
