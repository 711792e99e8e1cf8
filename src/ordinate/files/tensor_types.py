"""How many bytes a tensor of each GGUF type takes: values are stored in blocks of fixed length."""

import math
from dataclasses import dataclass

from ordinate.errors import InputError


@dataclass(frozen=True, slots=True)
class TensorType:
    """One way to store numbers.

    Args:
        name: the format's name for it.
        values: numbers in one block.
        nbytes: bytes in one block.
    """

    name: str
    values: int
    nbytes: int


# By the number that the file carries. Each sum is one block's parts in their order, scales before values or after.
TYPES = {
    0: TensorType("F32", 1, 4),
    1: TensorType("F16", 1, 2),
    2: TensorType("Q4_0", 32, 2 + 16),
    3: TensorType("Q4_1", 32, 2 + 2 + 16),
    6: TensorType("Q5_0", 32, 2 + 4 + 16),
    7: TensorType("Q5_1", 32, 2 + 2 + 4 + 16),
    8: TensorType("Q8_0", 32, 2 + 32),
    9: TensorType("Q8_1", 32, 4 + 4 + 32),
    10: TensorType("Q2_K", 256, 16 + 64 + 2 + 2),
    11: TensorType("Q3_K", 256, 32 + 64 + 12 + 2),
    12: TensorType("Q4_K", 256, 2 + 2 + 12 + 128),
    13: TensorType("Q5_K", 256, 2 + 2 + 12 + 32 + 128),
    14: TensorType("Q6_K", 256, 128 + 64 + 16 + 2),
    15: TensorType("Q8_K", 256, 4 + 256 + 32),
    16: TensorType("IQ2_XXS", 256, 2 + 64),
    17: TensorType("IQ2_XS", 256, 2 + 64 + 8),
    18: TensorType("IQ3_XXS", 256, 2 + 96),
    19: TensorType("IQ1_S", 256, 2 + 32 + 16),
    20: TensorType("IQ4_NL", 32, 2 + 16),
    21: TensorType("IQ3_S", 256, 2 + 64 + 8 + 32 + 4),
    22: TensorType("IQ2_S", 256, 2 + 64 + 8 + 8),
    23: TensorType("IQ4_XS", 256, 2 + 2 + 4 + 128),
    24: TensorType("I8", 1, 1),
    25: TensorType("I16", 1, 2),
    26: TensorType("I32", 1, 4),
    27: TensorType("I64", 1, 8),
    28: TensorType("F64", 1, 8),
    29: TensorType("IQ1_M", 256, 32 + 16 + 8),
    30: TensorType("BF16", 1, 2),
    34: TensorType("TQ1_0", 256, 48 + 4 + 2),
    35: TensorType("TQ2_0", 256, 64 + 2),
    39: TensorType("MXFP4", 32, 1 + 16),
    40: TensorType("NVFP4", 64, 4 + 32),
    41: TensorType("Q1_0", 128, 2 + 16),
}


def bytes_of(tensor_type: TensorType, shape: tuple[int, ...], name: str) -> int:
    """The bytes that a tensor takes: `nbytes = product(shape) / values * type.nbytes`.

    Args:
        tensor_type: how it is stored.
        shape: rows last, as in NumPy; blocks do not cross rows.
        name: what the message calls it.

    Returns:
        Its length [byte], exact.

    Raises:
        InputError: a row is not a whole number of blocks.

    >>> bytes_of(TYPES[2], (10, 64), "w")
    360
    """
    row = shape[-1] if shape else 1
    if row % tensor_type.values:
        raise InputError(
            f"{name}: a row of type {tensor_type.name} must be a multiple of {tensor_type.values} values, got {row}"
        )
    return math.prod(shape) // tensor_type.values * tensor_type.nbytes
