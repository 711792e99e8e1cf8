"""`samples.jsonl`: one line a sample, in the order in which they end; a torn last line counts for nothing."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ordinate.errors import InputError
from ordinate.validate.cells import Sample

NAME = "samples.jsonl"
_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(Sample)


def encode(sample: Sample) -> bytes:
    """A sample as a line."""
    return _encoder.encode(sample) + b"\n"


def read_samples(folder: Path) -> list[Sample]:
    """The samples of a run folder, whole lines alone; none where the file is not there.

    Raises:
        InputError: a whole line is damaged
    """
    return [sample for sample, _ in _lines(folder / NAME)]


class Log:
    """The open file: it is cut behind its last whole line, and lines are added to it.

    Args:
        file: made where it is not there
    """

    def __init__(self, file: Path) -> None:
        self._handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        found = list(_lines(file))
        self.samples = [sample for sample, _ in found]
        os.ftruncate(self._handle, found[-1][1] if found else 0)

    def append(self, sample: Sample) -> None:
        """Add a line with one write, so that a kill tears at most this line."""
        line = memoryview(encode(sample))
        while line:  # a signal or a full disk may end a write early
            line = line[os.write(self._handle, line) :]

    def close(self) -> None:
        """Give the file back."""
        os.close(self._handle)


def compact(samples: Iterable[Sample]) -> bytes:
    """Samples as the content of a file."""
    return b"".join(map(encode, samples))


def _lines(file: Path) -> Iterator[tuple[Sample, int]]:
    """Each sample, and where its line ends, [byte]."""
    if not file.exists():
        return
    end = 0
    with file.open("rb") as handle:
        for number, line in enumerate(handle, 1):
            if not line.endswith(b"\n"):
                return
            end += len(line)
            try:
                yield _decoder.decode(line), end
            except msgspec.DecodeError as error:
                raise InputError(
                    f"{file}: line {number} is damaged: {error}; without that line the run asks for it again"
                ) from error
