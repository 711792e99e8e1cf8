"""A safetensors file written anew with some rows in another order: each byte is read once and written once."""

import io
import os
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO, cast

import numpy as np

from ordinate.errors import InputError
from ordinate.files.regular import identity, open_regular
from ordinate.files.safetensors import SafetensorsHeader, StoredTensor
from ordinate.weights.cuts import PairLayout, Turning
from ordinate.weights.safetensors import encode_header

Report = Callable[[str, float, float], None]
"""Called with what is being done, how much of it is done, and how much there is."""

_BLOCK_BYTES = 4 * 2**20
# Rows that cannot be parted are reordered in memory up to this size, and one by one from the file beyond it.
_MOST_BYTES = 8 * _BLOCK_BYTES


def rewrite(
    header: SafetensorsHeader,
    target: str | os.PathLike[str],
    moves: Mapping[str, Turning],
    to: PairLayout,
    metadata: Mapping[str, str],
    report: Callable[[int], None] | None = None,
) -> int:
    """Write a safetensors file with the tensors of another, some of them with their rows reordered.

    Tensors keep their order, types and shapes, and those that do not move their bytes. No more than some blocks of
    4 MiB are in memory.

    Args:
        header: of the file that is read, which is left alone
        target: the file to write; what stands there is replaced
        moves: the rows that turn, by the name of each tensor that is reordered
        to: the layout wanted; the file has the other one
        metadata: of the new file
        report: told how many bytes were written since it was told before

    Returns:
        the length of the new file [byte]

    Raises:
        InputError: the file was changed since its header was read, or a row does not take whole bytes
    """
    tensors = sorted(header.tensors.values(), key=lambda tensor: (tensor.start, tensor.end))
    begin = tensors[0].start if tensors else 0
    entries = {
        tensor.name: {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [tensor.start - begin, tensor.end - begin],
        }
        for tensor in header.tensors.values()
    }
    beginning = encode_header({"__metadata__": dict(metadata), **entries})
    with open_regular(header.path) as handle, open(target, "wb", buffering=0) as out:
        source = _Source(handle, header)
        _write(out, beginning)
        place = begin
        for tensor in [*(tensor for tensor in tensors if tensor.name in moves), None]:
            until = header.file.size if tensor is None else tensor.start
            for data in source.blocks(place, until if tensors else place):
                _write(out, data)
                if report:
                    report(len(data))
            if tensor is None:
                break
            for data in _reordered(source, tensor, moves[tensor.name], to):
                _write(out, data)
                if report:
                    report(len(data))
            place = tensor.end
        source.check()
    return len(beginning) + (header.file.size - begin if tensors else 0)


class _Source:
    """The file that is read, through one buffer and without read-ahead of our own."""

    def __init__(self, handle: BinaryIO, header: SafetensorsHeader) -> None:
        self._handle, self._file = handle, header.file
        self._raw = cast(io.FileIO, cast(io.BufferedReader, handle).raw)
        self._buffer = np.empty(_BLOCK_BYTES, np.uint8)
        self.check()

    def check(self) -> None:
        """Raise `InputError` where the file is no longer the one whose header was read."""
        if identity(self._handle, self._file.path) != self._file:
            raise InputError(f"{self._file.path} was changed after its header was read; read it again")

    def fill(self, start: int, into: np.ndarray) -> None:
        """Read bytes from `start` on until `into` is full."""
        self._raw.seek(start)
        view, done = into.data, 0
        while done < len(view):
            count = self._raw.readinto(view[done:])
            if not count:
                raise InputError(f"{self._file.path} was truncated while it was read")
            done += count

    def blocks(self, start: int, end: int) -> Iterator[memoryview]:
        """The bytes of a range, a block at a time; each is valid until the next."""
        for place in range(start, end, _BLOCK_BYTES):
            block = self._buffer[: min(_BLOCK_BYTES, end - place)]
            self.fill(place, block)
            yield block.data


def _reordered(source: _Source, tensor: StoredTensor, turning: Turning, to: PairLayout) -> Iterator[memoryview]:
    size = tensor.end - tensor.start
    if size == 0:
        return
    row, rest = divmod(size, turning.rows)
    if rest:
        raise InputError(f"tensor {tensor.name} of type {tensor.dtype} has rows that take no whole bytes")
    order = turning.order(to)
    for first, last in _stretches(turning, max(1, _BLOCK_BYTES // row)):
        if (last - first) * row <= _MOST_BYTES:
            rows = np.empty(((last - first), row), np.uint8)
            source.fill(tensor.start + first * row, rows.reshape(-1))
            yield rows[order[first:last] - first].reshape(-1).data
        else:
            for place in order[first:last].tolist():
                yield from source.blocks(tensor.start + place * row, tensor.start + (place + 1) * row)


def _stretches(turning: Turning, rows: int) -> Iterator[tuple[int, int]]:
    """Cut all rows into stretches of about `rows`, none of which parts a run of rows that turn."""
    first = 0
    while first < turning.rows:
        last = min(first + rows, turning.rows)
        run = int(np.searchsorted(turning.starts, last, side="left")) - 1
        if run >= 0 and turning.starts[run] < last < turning.starts[run] + turning.width:
            start = int(turning.starts[run])
            last = start if start > first else start + turning.width
        yield first, last
        first = last


def _write(out: io.FileIO, data: bytes | memoryview) -> None:
    view, done = memoryview(data), 0
    while done < len(view):
        done += out.write(view[done:]) or 0
