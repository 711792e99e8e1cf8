"""`rotate` in PyTorch's own operators: float32 arithmetic, differentiable, on any device."""

from typing import Any

import torch
from torch import Tensor

from ordinate.ops.rotate.arguments import Angles, Norms, Turn, rotary_start


def rotate_both(q: Any, k: Any, angles: Angles, turn: Turn, norms: Norms) -> tuple[Any, Any]:
    """Rotate q and k, None for None; the arguments are checked already."""
    return (
        None if q is None else rotate_one(q, angles, turn, norms.q, norms.epsilon),
        None if k is None else rotate_one(k, angles, turn, norms.k, norms.epsilon),
    )


def rotate_both_(q: Any, k: Any, angles: Angles, turn: Turn, norms: Norms) -> None:
    """`rotate_both`, written into q and k: without a norm, into the channels that turn alone."""
    width = 2 * angles.pairs
    for x, weight in ((q, norms.q), (k, norms.k)):
        if x is None:
            continue
        if weight is not None:
            x.copy_(rotate_one(kept(x, weight), angles, turn, weight, norms.epsilon))
            continue
        start = rotary_start(x, angles.pairs, turn.part)
        turning = x[..., start : start + width]
        turning.copy_(_turned(turning, angles, turn))


def rotate_into_cache_(
    q: Any,
    k: Tensor,
    v: Any,
    k_cache: Tensor,
    v_cache: Any,
    slots: Tensor,
    angles: Angles,
    turn: Turn,
    norms: Norms,
) -> None:
    """Rotate q in place, and write each token of k, rotated, and of v to its slot; those of negative slots nowhere."""
    if q is not None:
        rotate_both_(q, None, angles, turn, Norms(norms.q, None, norms.epsilon))
    if slots.is_meta:
        return
    written = slots >= 0
    found, page_size = slots[written].long(), max(k_cache.shape[1], 1)
    place = found // page_size, found % page_size
    k_cache[place] = rotate_one(k, angles, turn, norms.k, norms.epsilon)[written]
    if v is not None:
        v_cache[place] = v[written]


def rotate_one(x: Tensor, angles: Angles, turn: Turn, weight: Tensor | None = None, epsilon: float = 0.0) -> Tensor:
    """Rotate one tensor; the arguments are checked already, the semantics are those of `reference`.

    Args:
        x: [..., tokens, heads, dim]
        angles: a float32 table, or float64 frequencies
        turn: how
        weight: [dim], of a norm over the channels of a head
        epsilon: of that norm

    Returns:
        as `x`, contiguous: computed in float32 (float64 for float64), rounded once to the dtype of `x`
    """
    wide = x if weight is None else normalised(x, weight, epsilon)
    width = 2 * angles.pairs
    start = rotary_start(x, angles.pairs, turn.part)
    turned = _turned(wide[..., start : start + width], angles, turn)
    if width != x.shape[-1]:
        turned = torch.cat([wide[..., :start], turned, wide[..., start + width :]], dim=-1)
    return turned.to(x.dtype)


def normalised(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """x / sqrt(mean(x^2) + epsilon) * weight over the last axis: float32, or float64 for float64, not yet rounded."""
    wide = x.to(_arithmetic(x))
    return wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon) * weight.to(wide.dtype)


def kept(x: Any, weight: Any) -> Any:
    """What stays of `x` when it is written: the gradient of a norm needs what was normalised."""
    return x.clone() if weight is not None and torch.is_grad_enabled() else x


def tabulated(angles: Angles, tokens: int) -> Angles:
    """The table of these positions' angles, a row a token: computed in float64, rounded to float32 once."""
    positions: Any = angles.positions
    if positions is None:
        positions = torch.arange(tokens, device=angles.frequencies.device)
    if angles.axis_of_pair is None:
        turns = positions.flatten().double().unsqueeze(-1) * angles.frequencies
    else:
        turns = positions[angles.axis_of_pair].flatten(1).T.double() * angles.frequencies
        positions = positions[0]
    cos, sin = (angles.magnitude * turns.cos()).float(), (angles.magnitude * turns.sin()).float()
    rows = torch.arange(positions.numel(), device=positions.device).view(positions.shape)
    return Angles(cos, sin, rows)


def _turned(x: Tensor, angles: Angles, turn: Turn) -> Tensor:
    """All of `x` rotated: its width is twice the pairs."""
    if angles.frequencies is not None:
        angles = tabulated(angles, x.shape[-3])
    arithmetic = _arithmetic(x)
    if angles.axis_of_pair is not None:  # [..., tokens, pairs]: each pair has a row of its own
        rows = angles.positions[angles.axis_of_pair].movedim(0, -1), torch.arange(angles.pairs, device=x.device)
    else:
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


def _arithmetic(x: Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _ends(turn: Turn) -> tuple[str, str]:
    """How the input and the output pair their channels."""
    read, write = {
        "half": ("half", "half"),
        "interleaved": ("interleaved", "interleaved"),
        "interleaved-in-half-out": ("interleaved", "half"),
    }[turn.pairing]
    return (write, read) if turn.inverse else (read, write)
