"""Safetensors files, written tensor by tensor: no more than one tensor is in memory."""

import json
import math
import os
from collections.abc import Iterable, Mapping

import numpy as np

from ordinate.errors import InputError, got

# The format's names of the types that are written here.
_NAMES = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32", "uint8": "U8"}
# Readers map the file into memory and want their tensors aligned.
_ALIGNMENT = 8


def write_safetensors(
    path: str | os.PathLike[str],
    shapes: Mapping[str, tuple[int, ...]],
    tensors: Iterable[tuple[str, np.ndarray]],
    *,
    dtype: str = "float32",
    metadata: Mapping[str, str] | None = None,
) -> int:
    """Write a safetensors file whose tensors arrive one after another.

    Args:
        path: the file to write; what stands there is replaced
        shapes: the shape of each tensor by name, in the order in which they come
        tensors: name and values of each, in this order and these shapes, of type `dtype`
        dtype: NumPy's name of the type of all of them
        metadata: strings by name, for the header

    Returns:
        the length of the file [byte]

    Raises:
        InputError: an unknown type, or tensors that are not those announced

    Source: the safetensors format, github.com/huggingface/safetensors, README.
    """
    if dtype not in _NAMES:
        raise InputError(f"dtype must be one of {', '.join(_NAMES)}, got {got(dtype)}")
    stored = np.dtype(dtype).newbyteorder("<")
    header: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    offset = 0
    for name, shape in shapes.items():
        end = offset + math.prod(shape) * stored.itemsize
        header[name] = {"dtype": _NAMES[dtype], "shape": list(shape), "data_offsets": [offset, end]}
        offset = end
    beginning = encode_header(header)
    announced = iter(shapes.items())
    with open(path, "wb") as handle:
        handle.write(beginning)
        for name, values in tensors:
            expected = next(announced, ("no more tensor", ()))
            if (name, values.shape) != expected or values.dtype != np.dtype(dtype):
                raise InputError(
                    f"tensor {expected[0]!r} of shape {expected[1]} and type {dtype} must come next, "
                    f"got {name!r} of shape {values.shape} and type {values.dtype}"
                )
            handle.write(np.ascontiguousarray(values, stored).data)
        missing = next(announced, None)
        if missing is not None:
            raise InputError(f"tensor {missing[0]!r} must come next, got no more")
    return len(beginning) + offset


def encode_header(header: Mapping[str, object]) -> bytes:
    """The beginning of a safetensors file: the header's length and the header, padded so that tensors are aligned.

    Args:
        header: as JSON is to have it
    """
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return len(text).to_bytes(8, "little") + text
