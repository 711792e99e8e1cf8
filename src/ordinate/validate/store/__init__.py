"""Where a run lives: a folder with what determines it, its samples, and the state of its cells."""

from ordinate.validate.store.folder import RunFolder
from ordinate.validate.store.manifest import FORMAT, Manifest, read_manifest
from ordinate.validate.store.samples import read_samples

__all__ = ["FORMAT", "Manifest", "RunFolder", "read_manifest", "read_samples"]
