"""The key of a server: from a file or an environment variable, since a command line stands in the list of processes."""

import os
from pathlib import Path

from ordinate.errors import InputError
from ordinate.files.regular import open_regular

_KEY_BYTES = 4096


def given_key(file: Path | None, variable: str | None) -> str | None:
    """The key out of a file, or out of the environment variable of this name; None where neither is given.

    Raises:
        InputError: both are given, the variable is not set, or as for `check_key`
    """
    if file is not None and variable is not None:
        raise InputError("the key must come from a file or from an environment variable, got both")
    if variable is None:
        return read_key(file)
    if variable not in os.environ:
        raise InputError(f"the environment variable {variable}, which should hold the key, is not set")
    return check_key(os.environ[variable], f"the environment variable {variable}")


def read_key(file: Path | None = None) -> str | None:
    """The key in a file: its one line. A key on the command line would stand in the list of processes.

    Raises:
        InputError: no file, an empty one, or more than one line of printable ASCII
    """
    if file is None:
        return None
    with open_regular(file) as handle:
        text = handle.read(_KEY_BYTES + 1)
    return check_key(text.decode("latin-1"), str(file))


def check_key(text: str, source: str) -> str:
    """The key in a text, without the white space around it.

    Raises:
        InputError: not one line of printable ASCII; the message names the source alone
    """
    key = text.strip()
    if not key or len(text) > _KEY_BYTES or not all("!" <= character <= "~" for character in key):
        raise InputError(f"{source} must hold one key, a line of printable characters without spaces")
    return key
