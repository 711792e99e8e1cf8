"""Stored weights back to float32, block by block."""

import math
from collections.abc import Callable
from numbers import Integral

import numpy as np

from ordinate.errors import InputError, got
from ordinate.files.gguf import GgufFile
from ordinate.files.regular import read_range
from ordinate.files.tensor_types import TYPES, TensorType, bytes_of

# 64 Ki values: the float32 result of one step, 256 KiB, stays in a core's cache until it is finished.
_STEP_VALUES = 2**16


def dequantise(raw: np.ndarray, type_name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Turn the stored bytes of a tensor into its numbers.

    With d (scale) and m (least value or offset) stored as float16 per block of 32 and q the stored integers:
    `Q4_0: d (q - 8)`, `Q5_0: d (q - 16)`, `Q8_0: d q`, `Q4_1` and `Q5_1: d q + m`. In blocks of 256 with
    integer scales s and offsets o: `Q4_K: (d s) q - (m o)` for each 32, `Q6_K: (d s) (q - 32)` for each 16.

    Args:
        raw: uint8, the bytes of the whole tensor.
        type_name: "F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K" or "Q6_K".
        shape: the tensor's shape, rows last.

    Returns:
        float32 of this shape, always newly made; not finite where the stored scales are not.

    Raises:
        InputError: an unsupported type, or bytes that do not fit the shape.

    Source: the block layouts of ggml, github.com/ggml-org/ggml, src/ggml-common.h.

    >>> dequantise(np.array([0x80, 0x3F, 0x00, 0xC0], np.uint8), "BF16", (2,))
    array([ 1., -2.], dtype=float32)
    """
    if type_name not in _FILL:
        raise InputError(f"tensor type {got(type_name)} is not supported, those that are: {', '.join(_FILL)}")
    tensor_type = _BY_NAME[type_name]
    if not isinstance(raw, np.ndarray) or raw.dtype != np.uint8:
        raise InputError(f"raw must be a NumPy array of uint8, got {got(getattr(raw, 'dtype', raw))}")
    if any(isinstance(size, bool) or not isinstance(size, Integral) or size < 0 for size in shape):
        raise InputError(f"shape must hold integers >= 0, got {got(shape)}")
    needed = bytes_of(tensor_type, shape, "raw")
    if raw.size != needed:
        raise InputError(f"raw must have {needed} bytes for shape {shape} of type {type_name}, got {raw.size}")
    blocks = np.ascontiguousarray(raw).reshape(-1, tensor_type.nbytes)
    values = np.empty((math.prod(shape) // tensor_type.values, tensor_type.values), np.float32)
    step = _STEP_VALUES // tensor_type.values
    # A scale may be infinite or NaN; times zero that is NaN, which the result shows and no warning needs to say.
    with np.errstate(invalid="ignore"):
        for start in range(0, len(blocks), step):
            _FILL[type_name](blocks[start : start + step], values[start : start + step])
    return values.reshape(shape)


def read_tensor(gguf_file: GgufFile, name: str) -> np.ndarray:
    """Read one tensor of a GGUF file as float32.

    Args:
        gguf_file: what `read_gguf` returned.
        name: the tensor's name.

    Returns:
        float32 of the tensor's shape.

    Raises:
        InputError: no such tensor, an unsupported type, or a file that was changed since its header was read.
    """
    if name not in gguf_file.tensors:
        raise InputError(f"{gguf_file.path} has no tensor {got(name)}, it has {len(gguf_file.tensors)} others")
    info = gguf_file.tensors[name]
    if info.type_name not in _FILL:
        raise InputError(
            f"{gguf_file.path}: tensor {got(name)} is stored as {info.type_name}, which is not supported; "
            f"those that are: {', '.join(_FILL)}"
        )
    return dequantise(read_range(gguf_file.file, info.offset, info.offset + info.nbytes), info.type_name, info.shape)


def _halves(blocks: np.ndarray, offset: int) -> np.ndarray:
    """The float16 number at one offset of every block, as float32 `[blocks, 1]`."""
    return np.ascontiguousarray(blocks[:, offset : offset + 2]).view("<f2").astype(np.float32)


def _nibbles(blocks: np.ndarray, offset: int) -> np.ndarray:
    """The 4-bit numbers of a block of 32, uint8 `[blocks, 32]`: the low halves of 16 bytes, then the high ones."""
    packed = blocks[:, offset : offset + 16]
    return np.concatenate([packed & 15, packed >> 4], axis=1)


def _fifth_bits(blocks: np.ndarray, offset: int) -> np.ndarray:
    """16 where the fifth bit of a number of the block is set, else 0, uint8 `[blocks, 32]`."""
    return np.unpackbits(blocks[:, offset : offset + 4], axis=1, bitorder="little") << 4


def _fill_f32(blocks: np.ndarray, values: np.ndarray) -> None:
    values[...] = blocks.view("<f4")


def _fill_f16(blocks: np.ndarray, values: np.ndarray) -> None:
    values[...] = blocks.view("<f2")


def _fill_bf16(blocks: np.ndarray, values: np.ndarray) -> None:
    # bfloat16 is the upper half of a float32.
    np.left_shift(blocks.view("<u2"), np.uint32(16), out=values.view(np.uint32))


def _fill_q4_0(blocks: np.ndarray, values: np.ndarray) -> None:
    np.subtract(_nibbles(blocks, 2), np.float32(8), out=values)
    values *= _halves(blocks, 0)


def _fill_q4_1(blocks: np.ndarray, values: np.ndarray) -> None:
    np.multiply(_nibbles(blocks, 4), _halves(blocks, 0), out=values)
    values += _halves(blocks, 2)


def _fill_q5_0(blocks: np.ndarray, values: np.ndarray) -> None:
    np.subtract(_nibbles(blocks, 6) | _fifth_bits(blocks, 2), np.float32(16), out=values)
    values *= _halves(blocks, 0)


def _fill_q5_1(blocks: np.ndarray, values: np.ndarray) -> None:
    np.multiply(_nibbles(blocks, 8) | _fifth_bits(blocks, 4), _halves(blocks, 0), out=values)
    values += _halves(blocks, 2)


def _fill_q8_0(blocks: np.ndarray, values: np.ndarray) -> None:
    np.multiply(blocks[:, 2:].view(np.int8), _halves(blocks, 0), out=values)


def _fill_q4_k(blocks: np.ndarray, values: np.ndarray) -> None:
    # 12 bytes hold 8 scales and 8 offsets of 6 bits: the first four of each stand in the low 6 bits of bytes 0-3
    # and 4-7; the last four have their low 4 bits in bytes 8-11 and their upper 2 in the spare bits of bytes 0-7.
    first, second, third = blocks[:, 4:8], blocks[:, 8:12], blocks[:, 12:16]
    scales = np.concatenate([first & 63, (third & 15) | (first >> 6 << 4)], axis=1)
    offsets = np.concatenate([second & 63, (third >> 4) | (second >> 6 << 4)], axis=1)
    # Every 32 bytes hold two runs of 32 numbers, the first in the low halves.
    packed = blocks[:, 16:].reshape(-1, 4, 1, 32)
    numbers = np.concatenate([packed & 15, packed >> 4], axis=2).reshape(-1, 8, 32)
    runs = values.reshape(-1, 8, 32)
    np.multiply(numbers, (_halves(blocks, 0) * scales)[:, :, None], out=runs)
    runs -= (_halves(blocks, 2) * offsets)[:, :, None]


def _fill_q6_k(blocks: np.ndarray, values: np.ndarray) -> None:
    # Each half of 128 numbers: 64 bytes of low 4 bits, whose low halves are runs 0 and 1 of 32 and whose high
    # halves runs 2 and 3; and 32 bytes of upper 2 bits, run by run from the lowest bits.
    low = blocks[:, :128].reshape(-1, 2, 2, 32)
    upper = blocks[:, 128:192].reshape(-1, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3
    numbers = np.concatenate([low & 15, low >> 4], axis=2) | upper << 4
    scales = _halves(blocks, 208) * blocks[:, 192:208].view(np.int8)
    runs = values.reshape(-1, 16, 16)
    np.subtract(numbers.reshape(-1, 16, 16), np.float32(32), out=runs)
    runs *= scales[:, :, None]


_BY_NAME: dict[str, TensorType] = {tensor_type.name: tensor_type for tensor_type in TYPES.values()}
_FILL: dict[str, Callable[[np.ndarray, np.ndarray], None]] = {
    "F32": _fill_f32,
    "F16": _fill_f16,
    "BF16": _fill_bf16,
    "Q4_0": _fill_q4_0,
    "Q4_1": _fill_q4_1,
    "Q5_0": _fill_q5_0,
    "Q5_1": _fill_q5_1,
    "Q8_0": _fill_q8_0,
    "Q4_K": _fill_q4_k,
    "Q6_K": _fill_q6_k,
}
