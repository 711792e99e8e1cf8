"""`rotate` in PyTorch's own operators: float32 arithmetic, differentiable, on any device."""

import torch
from torch import Tensor

from ordinate.ops.rotate.arguments import Turn, rotary_start


def rotate_one(x: Tensor, cos: Tensor, sin: Tensor, positions: Tensor | None, turn: Turn) -> Tensor:
    """Rotate one tensor; the arguments are checked already, the semantics are those of `reference`.

    Args:
        x: [..., tokens, heads, dim]
        cos, sin: [table, pairs], float32
        positions: [tokens] or [batch, tokens], rows of the table; None for 0 to tokens - 1
        turn: how

    Returns:
        as `x`, contiguous: computed in float32 (float64 for float64), rounded once to the dtype of `x`
    """
    width = 2 * cos.shape[-1]
    start = rotary_start(x, cos.shape[-1], turn.part)
    turned = _turned(x[..., start : start + width], cos, sin, positions, turn)
    if width == x.shape[-1]:
        return turned
    return torch.cat([x[..., :start], turned, x[..., start + width :]], dim=-1)


def rotate_one_(x: Tensor, cos: Tensor, sin: Tensor, positions: Tensor | None, turn: Turn) -> None:
    """`rotate_one`, written into the channels of `x` that turn."""
    width = 2 * cos.shape[-1]
    start = rotary_start(x, cos.shape[-1], turn.part)
    turning = x[..., start : start + width]
    turning.copy_(_turned(turning, cos, sin, positions, turn))


def _turned(x: Tensor, cos: Tensor, sin: Tensor, positions: Tensor | None, turn: Turn) -> Tensor:
    """All of `x` rotated: its width is twice the pairs."""
    arithmetic = torch.float64 if x.dtype == torch.float64 else torch.float32
    rows = slice(x.shape[-3]) if positions is None else positions
    cos, sin = (table[rows].unsqueeze(-2).to(arithmetic) for table in (cos, sin))
    read, write = _ends(turn)
    wide = x.to(arithmetic)
    if read == "half":
        first, second = wide.chunk(2, dim=-1)
    else:
        first, second = wide[..., 0::2], wide[..., 1::2]
    if turn.inverse:
        sin = -sin
    pair = (first * cos - second * sin, first * sin + second * cos)
    out = torch.cat(pair, dim=-1) if write == "half" else torch.stack(pair, dim=-1).flatten(-2)
    return out.to(x.dtype)


def _ends(turn: Turn) -> tuple[str, str]:
    """How the input and the output pair their channels."""
    read, write = {
        "half": ("half", "half"),
        "interleaved": ("interleaved", "interleaved"),
        "interleaved-in-half-out": ("interleaved", "half"),
    }[turn.pairing]
    return (write, read) if turn.inverse else (read, write)
