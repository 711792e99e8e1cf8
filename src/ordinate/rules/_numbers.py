"""Numbers of the evidence, and how they are written."""

import numpy as np


def shown(value: float) -> str:
    """A number as a person writes it: whole where it is, else with six digits.

    >>> shown(131072.0), shown(0.25)
    ('131072', '0.25')
    """
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else f"{value:.6g}"


def furthest(used: np.ndarray, right: np.ndarray) -> tuple[int, float]:
    """The pair in which frequencies are furthest from the right ones, and the difference relative to the right one."""
    difference = np.abs(used - right) / np.where(right != 0, np.abs(right), 1)
    pair = int(difference.argmax())
    return pair, float(difference[pair])


def bfloat16(values: np.ndarray) -> np.ndarray:
    """Values rounded to bfloat16, to nearest and ties to even, as float64."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return bits.astype(np.uint32).view(np.float32).astype(np.float64)
