"""What explains the angles by which keys of a text at another place are off: other positions, or another table."""

import numpy as np
import torch
from torch import Tensor

EXPLAINED = 0.995
"""Keys that a displacement explains lie this close to it: cos of the angle that is left, weighted by size."""

_ROUNDED = {"bfloat16": torch.bfloat16, "float16": torch.float16, "int8": torch.int8, "uint8": torch.uint8}
# Frequencies in bfloat16 are off by 2**-9 of their size at most; twice that is another frequency.
_COARSEST = 2.0**-8
_LEAST = 0.05


def displacement(left: Tensor, size: Tensor, frequencies: Tensor, start: int, which: Tensor) -> tuple[str, str]:
    """Which positions, or what else, explain the angles by which keys are off.

    Args:
        left: [rows, tokens, heads, pairs], complex: the angle of each pair that is left over, and its weight
        size: of the same shape, the weights
        frequencies: [pairs], signed by the direction of turning, [rad/token]
        start: the first position, [token]
        which: [tokens], bool: whose keys are off

    Returns:
        a name in `kinds`, and what was seen, in half a sentence
    """
    tokens = left.shape[1]
    positions = start + torch.arange(tokens)
    summed, sizes = left.sum((0, 2)), size.sum((0, 2))

    def fits(displaced: Tensor) -> bool:
        turned = summed * torch.polar(torch.ones(()).double(), -frequencies * displaced[:, None].double())
        share = turned.real.sum(-1) / sizes.sum(-1)
        return bool((share > EXPLAINED).all())

    for name, dtype in _ROUNDED.items():
        rounded = positions.to(dtype).to(torch.int64) - positions
        if rounded.any() and fits(rounded):
            return "position_precision", f"keys stand where their positions rounded to {name} are"
    if fits(torch.full((tokens,), start)):
        return "rotation_count", "keys are turned by twice their positions"
    wrong = which.nonzero()[:, 0]
    ends = [int(positions[t]) + _nearest(summed[t], frequencies, int(positions[t])) for t in (wrong[0], wrong[-1])]
    first = int(positions[wrong[0]])
    last = ends[1]
    if fits(torch.where(positions >= first, last - positions, 0)) and len(wrong) > 1:
        return "clamped", f"from position {first} on all keys stand at position {last}"
    constant = ends[0] - first
    if constant and fits(torch.where(positions >= first, constant, 0)):
        if constant == -start:
            return "positions_ignored", "keys stand where they would without the positions that were given"
        if first > start or -constant > tokens:
            return (
                "clamped",
                f"from position {first} on keys stand {-constant} positions before their own: a table wraps",
            )
        return "shift", f"keys stand {constant:+d} positions from their own"
    if _scattered(left, size):
        return "unexplained", "keys of one position are each off by another angle: they are held coarsely, or mixed up"
    if _steady(left, size, frequencies * start):
        return "table_lost", "each pair turns by a frequency of its own, far from the one that the configuration says"
    return (
        "table_precision",
        "no position explains the angles of keys: their frequencies or tables are rounded or others",
    )


def _scattered(left: Tensor, size: Tensor) -> bool:
    """Whether the angles that are left differ between the rows and heads of one position, which have one table."""
    several = left.shape[0] * left.shape[2]
    alone = (left.imag.square() / size).sum()
    together = (left.imag.sum((0, 2)).square() / size.sum((0, 2))).sum()
    # Of one table the two are equal; what differs at random is smaller together, by as many times as there are.
    return several > 1 and float(together) < (1 + 1 / several) / 2 * float(alone)


def _steady(left: Tensor, size: Tensor, turn: Tensor) -> bool:
    """Whether each pair is off by one angle at all tokens, and some by more than frequencies of a low precision are."""
    summed = left.sum((0, 1, 2))
    steady = bool((summed.abs() > EXPLAINED * size.sum((0, 1, 2))).all())
    return steady and bool((torch.angle(summed).abs() > _COARSEST * turn.abs() + _LEAST).any())


def _nearest(left: Tensor, frequencies: Tensor, position: int) -> int:
    """The whole number of positions that explains the angles of one token best, from its own back to 0, or a few on."""
    best, found = -np.inf, 0
    for some in torch.arange(-position, 129).split(8192):
        share = (left * torch.polar(torch.ones(()).double(), -frequencies * some[:, None].double())).real.sum(-1)
        if float(share.max()) > best:
            best, found = float(share.max()), int(some[share.argmax()])
    return found
