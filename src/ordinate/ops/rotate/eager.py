"""`rotate` in PyTorch's own operators: float32 arithmetic, differentiable, on any device."""

import torch
from torch import Tensor

from ordinate.ops.rotate.arguments import Angles, Turn, rotary_start


def rotate_one(x: Tensor, angles: Angles, turn: Turn) -> Tensor:
    """Rotate one tensor; the arguments are checked already, the semantics are those of `reference`.

    Args:
        x: [..., tokens, heads, dim]
        angles: a float32 table, or float64 frequencies
        turn: how

    Returns:
        as `x`, contiguous: computed in float32 (float64 for float64), rounded once to the dtype of `x`
    """
    width = 2 * angles.pairs
    start = rotary_start(x, angles.pairs, turn.part)
    turned = _turned(x[..., start : start + width], angles, turn)
    if width == x.shape[-1]:
        return turned
    return torch.cat([x[..., :start], turned, x[..., start + width :]], dim=-1)


def rotate_one_(x: Tensor, angles: Angles, turn: Turn) -> None:
    """`rotate_one`, written into the channels of `x` that turn."""
    width = 2 * angles.pairs
    start = rotary_start(x, angles.pairs, turn.part)
    turning = x[..., start : start + width]
    turning.copy_(_turned(turning, angles, turn))


def tabulated(angles: Angles, tokens: int) -> Angles:
    """The table of these positions' angles, a row a token: computed in float64, rounded to float32 once."""
    positions = angles.positions
    if positions is None:
        positions = torch.arange(tokens, device=angles.frequencies.device)
    turns = (positions.flatten().double().unsqueeze(-1) * angles.frequencies).unflatten(0, positions.shape)
    cos, sin = (angles.magnitude * turns.cos()).float(), (angles.magnitude * turns.sin()).float()
    rows = torch.arange(positions.numel(), device=positions.device).view(positions.shape)
    return Angles(cos.flatten(0, -2), sin.flatten(0, -2), rows)


def _turned(x: Tensor, angles: Angles, turn: Turn) -> Tensor:
    """All of `x` rotated: its width is twice the pairs."""
    if angles.frequencies is not None:
        angles = tabulated(angles, x.shape[-3])
    arithmetic = torch.float64 if x.dtype == torch.float64 else torch.float32
    rows = slice(x.shape[-3]) if angles.positions is None else angles.positions
    cos, sin = (table[rows].unsqueeze(-2).to(arithmetic) for table in (angles.cos, angles.sin))
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
