"""A copy of a GGUF file with other keys and a few other tensors; all else goes through byte for byte."""

import mmap
import os
import secrets
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ordinate.errors import InputError, got
from ordinate.files.gguf import MAGIC, GgufFile
from ordinate.files.gguf_values import ARRAY, MAXIMUM_HEADER_BYTES, MAXIMUM_NAME_BYTES, Cursor
from ordinate.files.regular import identity, open_regular
from ordinate.files.tensor_types import TYPES

STEP = 2**23
"""How many bytes of a file are held at a time."""

# Files have 32; what lies between tensors is written anew.
MAXIMUM_ALIGNMENT = 2**20

Value = str | bool | int | float
_TYPE_NUMBERS = {kind.name: number for number, kind in TYPES.items()}
_LARGEST_UINT32 = 2**32 - 1


@dataclass(frozen=True)
class Change:
    """What a copy has in place of what its source has.

    Args:
        keys: the values of keys that are changed or added, stored as string, bool, uint32 or float32
        without: keys that are left out
        tensors: float32 tensors that are changed or added
        without_tensors: tensors that are left out
    """

    keys: Mapping[str, Value]
    without: frozenset[str] = frozenset()
    tensors: Mapping[str, np.ndarray] | None = None
    without_tensors: frozenset[str] = frozenset()


def copy_gguf(source: GgufFile, out: Path, change: Change, check: Callable[[Path], None] | None = None) -> None:
    """Write a copy of a GGUF file with some keys and tensors changed.

    Keys and tensors keep their order, new ones come last; version and alignment are the source's. Data is streamed,
    at most 8 MiB at a time. The source is only read.

    Args:
        source: the file's header; the file must not have changed since
        out: where to write; must not exist, and no part of it is seen there before it is whole
        change: what is different
        check: called with the whole copy before it has its name; the copy is dropped where this raises

    Raises:
        InputError: `out` exists or cannot be written, a part of a split file, a source that was changed meanwhile,
            or a value that GGUF cannot hold
    """
    _check_source(source)
    if os.path.lexists(out):
        raise InputError(f"{out} exists already, and is never overwritten: give another file or remove it")
    partial = out.parent / f".{out.name}.partial-{secrets.token_hex(4)}"
    try:
        with open_regular(source.path) as handle:
            _check_same(source, handle)
            with open(partial, "xb") as target:
                _write(source, handle, target, change)
                target.flush()
                os.fsync(target.fileno())
            _check_same(source, handle)
        if check is not None:
            check(partial)
        _name(partial, out)
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror or error}") from None
    finally:
        partial.unlink(missing_ok=True)


def _check_source(source: GgufFile) -> None:
    count = source.metadata.get("split.count", 0)
    if isinstance(count, int) and count > 1:
        raise InputError(f"{source.path} is one of {count} parts of a split model: merge them first, then copy")
    if source.alignment > MAXIMUM_ALIGNMENT:
        raise InputError(
            f"{source.path}: general.alignment must be at most {MAXIMUM_ALIGNMENT}, got {source.alignment}"
        )


def _check_same(source: GgufFile, handle: BinaryIO) -> None:
    if identity(handle, source.path) != source.file:
        raise InputError(f"{source.path} was changed after its header was read; read it again")


def _name(partial: Path, out: Path) -> None:
    """Give the whole file its name; a link, unlike a renaming, never takes the place of another file."""
    try:
        os.link(partial, out)
    except FileExistsError:
        raise InputError(f"{out} exists already, and is never overwritten: give another file or remove it") from None
    except OSError:  # a file system without links
        if os.path.lexists(out):
            raise InputError(f"{out} exists already, and is never overwritten: remove it") from None
        partial.rename(out)


def _write(source: GgufFile, handle: BinaryIO, target: BinaryIO, change: Change) -> None:
    fresh = dict(change.tensors or {})
    # In the source's order, a changed tensor in its old place; ggml requires data in the order of the names.
    order = [name for name in source.tensors if name not in change.without_tensors or name in fresh]
    order += [name for name in fresh if name not in source.tensors]
    entries = list(_entries(source, handle, change))
    target.write(MAGIC + struct.pack("<IQQ", source.version, len(order), len(entries)))
    for entry in entries:
        if isinstance(entry, bytes):
            target.write(entry)
        else:
            _stream(handle, target, *entry)
    offset = 0
    for name in order:
        nbytes = _write_info(source, target, name, fresh, offset)
        offset += -(-nbytes // source.alignment) * source.alignment
    for name in order:
        _pad(target, source.alignment)
        if name in fresh:
            target.write(np.ascontiguousarray(fresh[name], "<f4").tobytes())
        else:
            info = source.tensors[name]
            _stream(handle, target, info.offset, info.offset + info.nbytes)
    _pad(target, source.alignment)


def _entries(source: GgufFile, handle: BinaryIO, change: Change) -> Iterator[bytes | tuple[int, int]]:
    """The keys and values of the copy: bytes where they are new, else where they lie in the source."""
    end, waiting = min(source.file.size, MAXIMUM_HEADER_BYTES), dict(change.keys)
    with mmap.mmap(handle.fileno(), end, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as view:
        cursor = Cursor(view, end, source.path, len(MAGIC) + 4)
        cursor.number("<Q", "the number of tensors")
        for number in range(cursor.number("<Q", "the number of keys")):
            start = cursor.offset
            key = cursor.string(MAXIMUM_NAME_BYTES, f"key number {number}")
            kind = cursor.kind(f"key {got(key)}")
            if kind == ARRAY:
                cursor.skip_elements(*cursor.array_head(f"key {got(key)}"), f"key {got(key)}")
            else:
                cursor.value(kind, f"key {got(key)}")
            if key in waiting:
                yield _encoded(key, waiting.pop(key))
            elif key not in change.without:
                yield start, cursor.offset
    for key, value in waiting.items():
        yield _encoded(key, value)


def _encoded(key: str, value: Any) -> bytes:
    """A key with its value: string, bool, uint32 or float32."""
    if isinstance(value, bool):
        return _string(key) + struct.pack("<I?", 7, value)
    if isinstance(value, str):
        return _string(key) + struct.pack("<I", 8) + _string(value)
    if isinstance(value, int):
        if not 0 <= value <= _LARGEST_UINT32:
            raise InputError(f"{key} must fit into 32 bits without a sign, got {value}")
        return _string(key) + struct.pack("<II", 4, value)
    if not abs(value) <= float(np.finfo(np.float32).max):
        raise InputError(f"{key} must fit into float32, got {value:g}")
    return _string(key) + struct.pack("<If", 6, value)


def _string(text: str) -> bytes:
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def _write_info(source: GgufFile, target: BinaryIO, name: str, fresh: Mapping[str, np.ndarray], offset: int) -> int:
    """Write where a tensor lies, and return its length [byte]."""
    if name in fresh:
        shape, kind, nbytes = fresh[name].shape, "F32", 4 * fresh[name].size
    else:
        info = source.tensors[name]
        shape, kind, nbytes = info.shape, info.type_name, info.nbytes
    sizes = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
    target.write(_string(name) + sizes + struct.pack("<IQ", _TYPE_NUMBERS[kind], offset))
    return nbytes


def _stream(handle: BinaryIO, target: BinaryIO, start: int, end: int) -> None:
    handle.seek(start)
    while start < end:
        data = handle.read(min(STEP, end - start))
        if not data:
            raise InputError(f"{target.name}: the source ended at byte {start}, before {end}")
        target.write(data)
        start += len(data)


def _pad(target: BinaryIO, alignment: int) -> None:
    target.write(b"\0" * (-target.tell() % alignment))
