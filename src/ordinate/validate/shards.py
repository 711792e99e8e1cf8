"""Parts of a run, taken apart and put together again."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ordinate.errors import InputError
from ordinate.validate.store import Manifest, read_manifest, read_samples
from ordinate.validate.store.folder import RunFolder, open_run, planned_requests
from ordinate.validate.uses.planning import undecided
from ordinate.validate.uses.tallies import tally

_PART = re.compile("([0-9]{1,9})/([0-9]{1,9})")


def shard(text: str) -> tuple[int, int]:
    """Which of how many parts: "0/4" is the first of four.

    Raises:
        InputError: it is written otherwise, or there is no such part

    >>> shard("0/4")
    (0, 4)
    """
    parts = _PART.fullmatch(text)
    if parts and int(parts[1]) < int(parts[2]):
        return int(parts[1]), int(parts[2])
    raise InputError(f"a shard must be i/n with 0 <= i < n, such as 0/4, got {text!r}")


def together(folders: Sequence[Path]) -> Manifest:
    """The manifest of the whole run that these are parts of.

    Raises:
        InputError: no folders, a folder that is no run, or runs that differ in more than which part they are
    """
    if not folders:
        raise InputError("merge needs at least one run folder, got none")
    wholes = [replace(read_manifest(folder), shard=None) for folder in folders]
    for folder, other in zip(folders[1:], wholes[1:], strict=True):
        differences = wholes[0].differences(other)
        if differences:
            raise InputError(f"{folders[0]} and {folder} are not parts of one run: {'; '.join(differences)}")
    return wholes[0]


def merge(folders: Sequence[Path], out: Path) -> tuple[RunFolder, int]:
    """Put parts of a run together; doing it again, or with a part twice, changes nothing.

    Args:
        folders: of the parts, or of runs merged before
        out: the folder of the whole run; it may hold what was merged before

    Returns:
        the folder, closed, and how many samples of the plan are still to come; 0 where nothing is undecided without

    Raises:
        InputError: as for `together`, or two parts have different samples of one request
    """
    manifest = together(folders)
    with open_run(out, manifest) as folder:
        for part in folders:
            for sample in read_samples(part):
                there = folder.samples.get(sample.key)
                if there is not None and there != sample:
                    cell = sample.cell
                    raise InputError(
                        f"{part} and another part answer {cell.task} {sample.index} at {cell.length} tokens differently"
                    )
                folder.add(sample)
        subject = manifest.subject
        planned = {request.key(subject) for request in planned_requests(manifest)}
        strange = sorted(folder.samples.keys() - planned)
        if strange:
            raise InputError(f"{out} holds {len(strange)} samples that the run does not plan")
        folder.finish()
        decided = not any(
            undecided(trial, tally(trial, folder.samples.values()), search=manifest.search) for trial in manifest.trials
        )
        return folder, 0 if decided else len(planned) - len(folder.samples)
