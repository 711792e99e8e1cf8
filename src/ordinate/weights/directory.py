"""A directory that appears whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ordinate.errors import InputError


def check_directory(path: str | os.PathLike[str], name: str = "", *, new: bool = False) -> None:
    """Raise `InputError` where a directory can neither be made nor, if it is there, be written to.

    Args:
        path: the directory; its parents may be absent
        name: what it is called where it was given, as "--out"; empty: by its path
        new: whether it must not exist
    """
    path = Path(path)
    if new and os.path.lexists(path):
        raise InputError(f"{path} exists already, and is never overwritten: give another directory or remove it")
    there = path.absolute()
    while not os.path.lexists(there):
        there = there.parent
    if not os.path.isdir(there):
        why = f"{there} is no directory"
    elif not os.access(there, os.W_OK | os.X_OK):
        why = f"{there} cannot be written to"
    else:
        return
    if not name:
        raise InputError(f"{path} cannot be made: {why}")
    raise InputError(f"{name} must be a directory, or one that can be made, got {path}: {why}")


@contextmanager
def new_directory(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a directory under a temporary name beside `path`, and give it its name once it is complete.

    Nothing that exists is overwritten. Where the body raises, the temporary directory is removed; where the
    process is killed (SIGKILL), it is left behind under its temporary name, `.NAME.partial-XXXXXXXX`.

    Args:
        path: the directory to be made; its parents are made where they are absent

    Returns:
        the temporary directory, to be filled in the body of the `with` statement

    Raises:
        InputError: `path` exists, at the beginning or at the end, or it cannot be made or filled (a full disk)
    """
    path = Path(path)
    check_directory(path, new=True)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.parent / f".{path.name}.partial-{secrets.token_hex(4)}"
        partial.mkdir()
    except OSError as error:
        raise InputError(f"{path} cannot be made: {error.strerror}") from None
    try:
        yield partial
        for file in sorted(partial.iterdir()):
            _flush(file)
        # A directory can only take the place of an empty one, so what another process made here stays.
        partial.rename(path)
    except OSError as error:
        raise InputError(f"{path} cannot be made: {error}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _flush(file: Path) -> None:
    # Without this a file may be empty after a power failure although the directory has its name.
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
