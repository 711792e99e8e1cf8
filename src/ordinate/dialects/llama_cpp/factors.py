"""What the factor tensors of a GGUF file mean: a divisor of each pair's frequency, whatever it was made from."""

import math

import numpy as np

from ordinate.dialects.llama_cpp.keys import MAXIMUM_WIDTH, shortest
from ordinate.errors import InputError
from ordinate.files.dequantise import read_tensor
from ordinate.files.gguf import GgufFile
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope

DIVISORS = "rope_freqs.weight"
SHORT = "rope_factors_short.weight"
LONG = "rope_factors_long.weight"
# Gemma 4's pairs that do not turn have this divisor; no frequency is divided by it in earnest.
NOT_TURNING = 1e30
# How far float32 arithmetic moves the blend between kept and divided, in which divisors are compared.
TOLERANCE = 2e-6


def read_divisors(file: GgufFile, tensor: str, pairs: int, *, padded: bool = False) -> np.ndarray | None:
    """A factor tensor's entries, or None where the file has no such tensor.

    Args:
        file: the file, its header read
        tensor: the tensor's name
        pairs: how many entries it must have
        padded: more entries may follow, which are not used

    Returns:
        float64 [pairs], the float32 entries as they are

    Raises:
        InputError: another number of entries, several rows, or an entry that is not finite and > 0
    """
    if tensor not in file.tensors:
        return None
    shape = file.tensors[tensor].shape
    if len(shape) != 1 or shape[0] < pairs or shape[0] > (MAXIMUM_WIDTH if padded else pairs):
        raise InputError(f"{file.path}: {tensor} must have one entry for each of {pairs} pairs, got shape {shape}")
    values = read_tensor(file, tensor)[:pairs]
    wrong = ~(np.isfinite(values) & (values > 0))
    if wrong.any():
        index = int(wrong.argmax())
        raise InputError(f"{file.path}: {tensor}[{index}] must be finite and > 0, got {values[index]}")
    return values.astype(np.float64)


def turning_pairs(divisors: np.ndarray) -> int | None:
    """How many pairs turn, where divisors say that the first turn unscaled and the rest not at all; else None."""
    turning = int((divisors < NOT_TURNING / 10).sum())
    apart = (divisors[:turning] == 1).all() and (divisors[turning:] >= NOT_TURNING / 10).all()
    return turning if apart and turning < len(divisors) else None


def fit_llama3(divisors: np.ndarray, plain: np.ndarray) -> Llama3 | None:
    """The Llama-3 scaling whose divisors these are, or None where they do not determine it.

    With t[i] the blend between divided (0) and kept (1), 1 / divisors[i] = (1 - t[i]) / factor + t[i], and
    t[i] = (L * plain[i] / (2 pi) - low) / (high - low) where 0 < t[i] < 1. So the divisors determine the factor,
    L / low and high / low, from two pairs inside the band; low_freq_factor is taken as 1, as in every release.

    Args:
        divisors: [pairs]
        plain: the frequencies before scaling, [pairs], [rad/token]

    Returns:
        A scaling that gives these divisors to within what float32 arithmetic can tell
    """
    factor = shortest(float(divisors.max()))
    if factor <= 1 or divisors.min() != 1:
        return None
    kept = (1 / divisors - 1 / factor) / (1 - 1 / factor)
    band = (kept > 0) & (kept < 1)
    if band.sum() < 2:
        return None
    slope, offset = np.polyfit(plain[band], kept[band], 1)
    if slope <= 0 or offset >= 0:
        return None
    ratio = 1 - 1 / offset
    length = 2 * math.pi * slope * (ratio - 1)
    for digits in range(5):
        high = round(ratio, digits)
        if high <= 1:
            continue
        for step in (1024, 1):
            candidate = step * round(length / step)
            turns = candidate * plain / (2 * math.pi)
            if candidate and np.abs(np.clip((turns - 1) / (high - 1), 0, 1) - kept).max() <= TOLERANCE:
                return Llama3(factor, candidate, low_freq_factor=1.0, high_freq_factor=float(high))
    return None


def free(divisors: np.ndarray, *, length: int | None, magnitude: float = 1.0) -> LongRope:
    """Divisors as they are, at every length: a LongRoPE whose two lists agree."""
    values = tuple(divisors.tolist())
    return LongRope(values, values, 1.0, length or 1, magnitude_factor=magnitude)
