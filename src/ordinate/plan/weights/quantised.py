"""What a number takes in weights that were published quantised, by `quantization_config`."""

from collections.abc import Mapping
from typing import Any

from ordinate.errors import InputError, got
from ordinate.plan.weights.part import Part

# Embeddings, norms, routers and what is not a matrix of a layer stay in floats.
_FLOATS = frozenset(
    ("embedding", "output", "output bias", "router", "positions", "sinks", "shared expert's gate", "biases of experts")
)
_METHODS = ("fp8", "mxfp4", "gptq", "awq")


def known(method: str) -> bool:
    """Whether the layout of a method is known here."""
    return method in _METHODS


def number_bytes(part: Part, settings: Mapping[str, Any] | None, size: float) -> float:
    """What a number of a part takes.

    fp8:       1 + 4 / (rows * columns of a block); experts alone for
    mxfp4:     (4 + 8 / 32) / 8
    gptq, awq: (bits + (16 + bits) / group) / 8: a scale in float16 and a zero for each group

    Args:
        part: of the weights
        settings: the configuration's `quantization_config`, or None
        size: of a number that is not quantised, [byte]

    Raises:
        InputError: a setting that is missing or out of range
    """
    method = None if settings is None else settings.get("quant_method")
    if settings is None or method is None or part.name in _FLOATS or "norm" in part.name:
        return size
    if method == "fp8":
        block = settings.get("weight_block_size")
        if block is None:
            return 1.0
        if not isinstance(block, list) or len(block) != 2 or not all(type(n) is int and n > 0 for n in block):
            raise InputError(f"quantization_config.weight_block_size must be two integers >= 1, got {got(block)}")
        return 1.0 + 4 / (block[0] * block[1])
    if method == "mxfp4":
        return (4 + 8 / 32) / 8 if part.name == "experts" else size
    bits, group = settings.get("bits", 4), settings.get("group_size", 128)
    if type(bits) is not int or bits not in (2, 3, 4, 8):
        raise InputError(f"quantization_config.bits must be 2, 3, 4 or 8, got {got(bits)}")
    if type(group) is not int or (group < 1 and group != -1):
        raise InputError(f"quantization_config.group_size must be an integer >= 1, or -1, got {got(group)}")
    return bits / 8 if group == -1 else (bits + (16 + bits) / group) / 8
