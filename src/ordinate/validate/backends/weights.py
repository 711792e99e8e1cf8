"""What a model's folder holds, as one hash."""

import hashlib
from pathlib import Path

from ordinate.files.weight_files import weight_files
from ordinate.transformers.convert import Report

_STEP = 2**24


def hash_model(directory: Path, progress: Report | None = None) -> str:
    """The SHA-256 over a model's configuration and weights, in hexadecimal."""
    digest = hashlib.sha256()
    files = [directory / "config.json", *weight_files(directory)]
    total, done = sum(file.stat().st_size for file in files), 0
    for file in files:
        digest.update(f"{file.name} {file.stat().st_size}\n".encode())
        with file.open("rb") as handle:
            while part := handle.read(_STEP):
                digest.update(part)
                done += len(part)
                if progress:
                    progress("hashing", done, total)
    return digest.hexdigest()
