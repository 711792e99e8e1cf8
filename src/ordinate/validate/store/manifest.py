"""`run.json`: everything that determines a run, and how to open again what answers."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from ordinate.errors import InputError
from ordinate.validate.trials import Trial

FORMAT = 1
"""It rises when a field changes its meaning or goes."""

NAME = "run.json"
_DETERMINES = ("format", "suite", "subject", "seed", "search", "trials", "shard")


@dataclass(frozen=True)
class Manifest:
    """What determines a run.

    Args:
        suite: its name
        subject: what answers, and how prompts are made: part of every sample's key
        seed: of the instances
        trials: what is asked, in this order
        search: whether the longest length is looked for by bisection
        shard: which of how many parts this is; None for a whole run
        opening: how to open what answers again; it holds no key, and does not determine anything
        notes: what was left out of the suite and why, for reports; determined by the rest
        format: of the run folder
    """

    suite: str
    subject: Mapping[str, str]
    seed: int
    trials: tuple[Trial, ...]
    search: bool = False
    shard: tuple[int, int] | None = None
    opening: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    format: int = FORMAT

    def __post_init__(self) -> None:
        if self.shard is not None and not 0 <= self.shard[0] < self.shard[1]:
            raise InputError(f"a shard must be i/n with 0 <= i < n, got {self.shard[0]}/{self.shard[1]}")

    def differences(self, other: "Manifest") -> tuple[str, ...]:
        """In what two runs differ, in words; empty where they are the same run."""
        found = []
        for name in _DETERMINES:
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine == theirs:
                continue
            if name == "subject":
                found += different(mine, theirs)
            elif name == "trials":
                found.append(_trials(mine, theirs))
            else:
                found.append(f"{name}: {_short(mine)} and {_short(theirs)}")
        return tuple(found)

    def encode(self) -> bytes:
        """As JSON."""
        return msgspec.json.format(msgspec.json.encode(self, order="deterministic"), indent=2) + b"\n"


def different(mine: Mapping[str, str], theirs: Mapping[str, str]) -> tuple[str, ...]:
    """In what two subjects differ, in words."""
    keys = [key for key in sorted({*mine, *theirs}) if mine.get(key) != theirs.get(key)]
    return tuple(f"{key}: {_short(mine.get(key))} and {_short(theirs.get(key))}" for key in keys)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run folder.

    Raises:
        InputError: the folder is no run, or one of another format
    """
    file = folder / NAME
    try:
        data = msgspec.json.decode(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"{folder} must be a run folder: it has no {NAME}") from error
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    found = data.get("format") if isinstance(data, dict) else None
    if found != FORMAT:
        raise InputError(f"{file} must be of format {FORMAT}, got {found!r}")
    try:
        return msgspec.convert(data, Manifest)
    except (msgspec.ValidationError, InputError) as error:
        raise InputError(f"{file} is damaged: {error}") from error


def write_whole(file: Path, content: bytes) -> None:
    """Put a file in place at once: whoever reads it sees the old or the new, never a part, whatever is killed."""
    beside = file.with_name(f"{file.name}.part")
    with beside.open("wb") as handle:
        handle.write(content)
        handle.flush()
        os.fsync(handle.fileno())
    beside.replace(file)


def _trials(mine: tuple[Trial, ...], theirs: tuple[Trial, ...]) -> str:
    if len(mine) != len(theirs):
        return f"trials: {len(mine)} and {len(theirs)} of them"
    one, other = next(pair for pair in zip(mine, theirs, strict=True) if pair[0] != pair[1])
    names = [name for name in one.__dataclass_fields__ if getattr(one, name) != getattr(other, name)]
    return f"trials: {names[0]} of {one.task}: {_short(getattr(one, names[0]))} and {_short(getattr(other, names[0]))}"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
