"""A user's own text file."""

import hashlib
from os import PathLike
from pathlib import Path

from ordinate.errors import InputError
from ordinate.texts.text import Provenance, Text

LARGEST = 64 * 2**20  # byte; sixty novels, and more than any model's window


def read_file(path: str | PathLike[str]) -> Text:
    """Return the text of a UTF-8 file as it stands; a byte-order mark at its start is dropped, and this is recorded.

    Args:
        path: a regular file of at most 64 MiB.

    Returns:
        A text named after the file, all of it body.

    Raises:
        InputError: the file is absent, not a regular file, unreadable, too large, not UTF-8, or holds only white space.
    """
    file = Path(path)
    try:
        if not file.is_file():  # a pipe would wait, a device might never end
            kind = "another kind" if file.exists() else "nothing"
            raise InputError(f"text file {file} must be a regular file, got {kind}")
        with file.open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"text file {file} cannot be read: {error.strerror}") from error
    if len(data) > LARGEST:
        raise InputError(f"text file {file} must have at most {LARGEST} bytes, got more")
    try:
        decoded = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"text file {file} must be UTF-8: {error.reason} at byte {error.start}") from error
    text = decoded.removeprefix("\ufeff")
    if not text.strip():
        raise InputError(f"text file {file} must hold text, got {'white space only' if text else 'nothing'}")
    return Text(
        name=file.stem,
        title=file.name,
        author=None,
        year=None,
        text=text,
        sha256=hashlib.sha256(text.encode("utf-8")).hexdigest(),
        provenance=Provenance(
            source=str(file),
            licence="not stated",
            changes=() if text == decoded else ("a byte-order mark dropped",),
        ),
        span=(0, len(text)),
    )
