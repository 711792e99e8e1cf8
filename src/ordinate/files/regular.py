"""Regular files, opened without blocking and read again only while they are still the same."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ordinate.errors import InputError


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """Which file was read, so that a later read of a part of it can tell that it is still the same.

    Args:
        path: the path as it was given.
        size: its length [byte].
        device: the file system's number.
        inode: the file's number in that file system.
        modified: time of the last change [ns].
    """

    path: Path
    size: int
    device: int
    inode: int
    modified: int


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; directories, pipes and devices are refused.

    Args:
        path: where the file is.

    Returns:
        The open file; the caller closes it.

    Raises:
        InputError: it does not exist, is not a regular file, or cannot be opened.
    """
    try:
        handle = open(path, "rb", opener=_open_without_waiting)  # noqa: SIM115 - returned open
    except FileNotFoundError:
        raise InputError(f"{os.fspath(path)} does not exist") from None
    except OSError as error:
        raise InputError(f"{os.fspath(path)} cannot be opened: {error.strerror}") from None
    except ValueError as error:  # a path with a zero byte in it
        raise InputError(f"{os.fspath(path)!r} is not a path: {error}") from None
    if not stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
        handle.close()
        raise InputError(f"{os.fspath(path)} must be a regular file, and is a pipe, a socket or a device")
    return handle


def identity(handle: BinaryIO, path: str | os.PathLike[str]) -> FileIdentity:
    """The identity of an open file.

    Args:
        handle: the file, open.
        path: the path that it was opened by.

    Returns:
        Its identity, to be given to `read_range` later.
    """
    status = os.fstat(handle.fileno())
    return FileIdentity(Path(path), status.st_size, status.st_dev, status.st_ino, status.st_mtime_ns)


def read_range(file: FileIdentity, start: int, end: int) -> np.ndarray:
    """Read the bytes `start` to `end` of a file that was read before.

    Args:
        file: what the first read found.
        start: first byte, from the beginning of the file.
        end: the byte after the last.

    Returns:
        uint8 `[end - start]`.

    Raises:
        InputError: the file is gone or was changed, or the range lies outside it.
    """
    if not 0 <= start <= end <= file.size:
        raise InputError(f"{file.path}: bytes {start} to {end} lie outside the file's {file.size} bytes")
    with open_regular(file.path) as handle:
        if identity(handle, file.path) != file:
            raise InputError(f"{file.path} was changed after its header was read; read it again")
        data = np.empty(end - start, np.uint8)
        handle.seek(start)
        count = handle.readinto(data)  # type: ignore[attr-defined]
    if count != data.size:
        raise InputError(f"{file.path}: {data.size} bytes were to be read at {start}, and only {count} came")
    return data


def _open_without_waiting(path: str, flags: int) -> int:
    # Opening a pipe waits for its writer; without waiting it can be recognised and refused.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
