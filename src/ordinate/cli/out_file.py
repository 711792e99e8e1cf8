"""The file that --out names, looked at before the work is done."""

import os
from pathlib import Path

from ordinate.errors import InputError


def check_out(out: Path | None) -> None:
    """Raise `InputError` where a file cannot be written; None is none to write.

    Args:
        out: what --out was given
    """
    if out is None:
        return
    if not out.absolute().parent.is_dir():
        raise InputError(f"--out must lie in a directory that exists, got {out}")
    if out.is_dir():
        raise InputError(f"--out must be a file, got the directory {out}")
    if not os.access(out if out.exists() else out.absolute().parent, os.W_OK):
        raise InputError(f"--out must be a file that can be written, got {out}")
