"""A run folder, open for one process."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ordinate.errors import InputError, Unavailable
from ordinate.validate.cells import Cell, Request, Sample
from ordinate.validate.store import cells, samples
from ordinate.validate.store.manifest import NAME, Manifest, read_manifest, write_whole
from ordinate.weights.directory import check_directory


class RunFolder:
    """What a run has so far, and where more of it goes.

    A run that was killed at any moment is opened as if nothing had happened; what it loses are the samples that were
    asked for just then.

    Args:
        path: of the folder; made where it is not there
        manifest: of the run; a folder that is there already must be of the same

    Raises:
        InputError: the folder holds another run, or something else
        Unavailable: another process has it open
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path, self.manifest = path, manifest
        check_directory(path, "the run's folder")
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{path} cannot be made: {error.strerror}") from error
        self._lock = _locked(path)
        try:
            self._check()
            self._log = samples.Log(path / samples.NAME)
            self.samples: dict[str, Sample] = {}
            for sample in self._log.samples:
                self.samples.setdefault(sample.key, sample)
            self._cells = cells.Cells(path / cells.NAME, _planned(manifest), self.samples.values())
        except BaseException:
            os.close(self._lock)
            raise

    def _check(self) -> None:
        if (self.path / NAME).exists():
            other = read_manifest(self.path)
            differences = self.manifest.differences(other)
            if differences:
                raise InputError(f"{self.path} holds another run; asked for and there: {'; '.join(differences)}")
            if other != self.manifest:  # how it is opened, which `resume` goes on with
                write_whole(self.path / NAME, self.manifest.encode())
            return
        check_place(self.path)
        write_whole(self.path / NAME, self.manifest.encode())

    def add(self, sample: Sample, seconds: float | None = None) -> None:
        """Keep a sample that took so long, [s]; one that is there already is left as it is."""
        if sample.key in self.samples:
            return
        self._log.append(sample)
        self.samples[sample.key] = sample
        self._cells.add(sample, seconds)

    def finish(self) -> None:
        """Write the samples anew in the order of the plan, so that the file tells nothing of the run's course."""
        order = {cell: number for number, cell in enumerate(_planned(self.manifest))}
        rows = sorted(self.samples.values(), key=lambda sample: (order.get(sample.cell, len(order)), sample.index))
        write_whole(self.path / samples.NAME, samples.compact(rows))

    def write(self, name: str, content: str) -> Path:
        """Put a report into the folder, whole."""
        write_whole(self.path / name, content.encode())
        return self.path / name

    def close(self) -> None:
        """Give the folder back."""
        self._log.close()
        self._cells.close()
        os.close(self._lock)


def check_place(path: Path, name: str = "the run's folder") -> None:
    """Raise `InputError` where no run can live: what is there is neither a run nor empty, or nothing can be made.

    Args:
        path: of the folder
        name: what it is called where it was given, as "--out"
    """
    check_directory(path, name)
    entries = path.iterdir() if path.is_dir() else ()
    # a run that was killed before it wrote anything leaves its lock, and perhaps a part
    there = sorted(entry.name for entry in entries if entry.name != "lock" and entry.suffix != ".part")
    # the manifest is the first of all files, so that it is there by now where a run began meanwhile
    if there and not (path / NAME).exists():
        raise InputError(f"{path} must be a run folder or empty, got a folder with {there[0]!r}")


@contextmanager
def open_run(path: Path, manifest: Manifest) -> Iterator[RunFolder]:
    """A run folder, given back at the end."""
    folder = RunFolder(path, manifest)
    try:
        yield folder
    finally:
        folder.close()


def planned_requests(manifest: Manifest) -> Iterator[Request]:
    """Every request that a run may make, in the order of the plan, each once; of a shard its own alone."""
    for trial in manifest.trials:
        for cell in trial.cells:
            most = trial.control_units if cell.control else trial.units
            for request in trial.requests(cell, 0, most):
                if manifest.shard is None or (request.index // trial.members) % manifest.shard[1] == manifest.shard[0]:
                    yield request


def _planned(manifest: Manifest) -> Mapping[Cell, tuple[int, int]]:
    """Every cell of the plan, with the number of its first trial and the samples it may have."""
    found: dict[Cell, tuple[int, int]] = {}
    for number, trial in enumerate(manifest.trials):
        for cell in trial.cells:
            most = (trial.control_units if cell.control else trial.units) * trial.members
            found.setdefault(cell, (number, most))
    return found


def _locked(path: Path) -> int:
    """The folder's lock, which goes with the process that holds it, however that ends."""
    handle = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise Unavailable(f"{path} is in use by another process") from error
    return handle
