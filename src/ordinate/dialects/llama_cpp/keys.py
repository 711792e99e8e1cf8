"""A GGUF file's metadata under its architecture's prefix: typed, bounded, with notes of the reading."""

from typing import Any

import numpy as np

from ordinate.errors import InputError, finite, got, non_negative_integer, positive_integer
from ordinate.files.gguf import GgufFile
from ordinate.files.gguf_values import GgufArray

# Beyond what any model has; they keep what is built from untrusted numbers small.
MAXIMUM_LAYERS = 4096
MAXIMUM_WIDTH = 65536
MAXIMUM_LENGTH = 2**40


class Keys:
    """Typed access to metadata; absent keys are None.

    Args:
        file: the file, its header read
        architecture: its `general.architecture`, the prefix of the keys

    Besides, the notes of the reading: `sources` for each value of the spec, and `warnings`.
    """

    def __init__(self, file: GgufFile, architecture: str) -> None:
        self.file = file
        self.architecture = architecture
        self.asked: set[str] = set()
        self.sources: dict[str, str] = {}
        self.warnings: list[str] = []

    def full(self, name: str) -> str:
        """The key as it stands in the file."""
        return f"{self.architecture}.{name}"

    def warn(self, text: str) -> None:
        """Note a remark for whoever reads the spec, once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def label(self, name: str) -> str:
        """The key and its file, for messages."""
        return f"{self.file.path}: {self.full(name)}"

    def get(self, name: str) -> Any:
        """The value as it stands in the file, or None."""
        self.asked.add(self.full(name))
        return self.file.metadata.get(self.full(name))

    def integer(self, name: str, *, most: int | None = None, zero: bool = False) -> int | None:
        """An integer >= 1, or >= 0 where `zero` is allowed, and at most `most`."""
        value = self.get(name)
        return None if value is None else self._checked(name, value, most, zero)

    def number(self, name: str) -> float | None:
        """A finite number; float32 becomes the shortest decimal that rounds to it, which is what was written."""
        value = self.get(name)
        return None if value is None else shortest(finite(self.label(name), value))

    def flag(self, name: str) -> bool | None:
        """A boolean."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise InputError(f"{self.label(name)} must be a boolean, got {got(value)}")
        return value

    def word(self, name: str) -> str | None:
        """A string."""
        value = self.get(name)
        if value is not None and not isinstance(value, str):
            raise InputError(f"{self.label(name)} must be a string, got {got(value)}")
        return value

    def integers(self, name: str, count: int, *, most: int | None = None) -> tuple[int, ...] | None:
        """Integers >= 0, one a layer; a single one stands for all `count`."""
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, GgufArray):
            return (self._checked(name, value, most, zero=True),) * count
        if len(value) < count or len(value) > MAXIMUM_LAYERS:
            raise InputError(f"{self.label(name)} must have an entry for each of {count} layers, got {len(value)}")
        return tuple(
            self._checked(f"{name}[{i}]", int(entry) if isinstance(entry, bool) else entry, most, zero=True)
            for i, entry in enumerate(list(value)[:count])
        )

    def vector(self, name: str, most: int) -> tuple[int, ...]:
        """A short list of integers >= 0; empty where the key is absent."""
        value = self.get(name)
        if value is None:
            return ()
        if not isinstance(value, GgufArray) or len(value) > most:
            raise InputError(f"{self.label(name)} must be a list of at most {most} integers, got {got(value)}")
        return tuple(self._checked(f"{name}[{i}]", entry, MAXIMUM_WIDTH, zero=True) for i, entry in enumerate(value))

    def unread(self, prefix: str) -> list[str]:
        """The keys under a prefix that nothing has asked for."""
        start = self.full(prefix)
        return [key for key in self.file.metadata if key.startswith(start) and key not in self.asked]

    def _checked(self, name: str, value: Any, most: int | None, zero: bool) -> int:
        label = self.label(name)
        number = non_negative_integer(label, value) if zero else positive_integer(label, value)
        if most is not None and number > most:
            raise InputError(f"{label} must be at most {most}, got {number}")
        return number


def shortest(value: float) -> float:
    """The shortest decimal that a float32 stands for; a value that is no float32 stays as it is.

    >>> shortest(0.07069999724626541)
    0.0707
    """
    if abs(value) > float(np.finfo(np.float32).max):
        return value
    single = np.float32(value)
    return float(np.format_float_scientific(single, unique=True)) if float(single) == value else value
