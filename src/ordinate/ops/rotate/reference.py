"""The definition of `rotate`, in NumPy and float64."""

from typing import Any

import numpy as np

from ordinate.ops.rotate.arguments import Angles, Norms, Turn, rotary_start


def channels(pairing: str, pairs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Where pair i is read, and where it is written.

    half:                      (i, i + pairs)    to (i, i + pairs)
    interleaved:               (2 i, 2 i + 1)    to (2 i, 2 i + 1)
    interleaved-in-half-out:   (2 i, 2 i + 1)    to (i, i + pairs)

    Returns:
        first and second channel of the input, first and second of the output: [pairs] each
    """
    i = np.arange(pairs)
    half, interleaved = (i, i + pairs), (2 * i, 2 * i + 1)
    read = half if pairing == "half" else interleaved
    write = interleaved if pairing == "interleaved" else half
    return *read, *write


def rotate_both(q: Any, k: Any, angles: Angles, turn: Turn, norms: Norms) -> tuple[Any, Any]:
    """Rotate q and k, None for None; the arguments are checked already."""
    return (
        None if q is None else rotate_one(q, angles, turn, norms.q, norms.epsilon),
        None if k is None else rotate_one(k, angles, turn, norms.k, norms.epsilon),
    )


def rotate_both_(q: Any, k: Any, angles: Angles, turn: Turn, norms: Norms) -> None:
    """`rotate_both`, written into q and k."""
    for x, made in zip((q, k), rotate_both(q, k, angles, turn, norms), strict=True):
        if x is not None:
            x[...] = made


def rotate_into_cache_(
    q: Any,
    k: np.ndarray,
    v: Any,
    k_cache: np.ndarray,
    v_cache: Any,
    slots: np.ndarray,
    angles: Angles,
    turn: Turn,
    norms: Norms,
) -> None:
    """Rotate q in place, and write each token of k, rotated, and of v to its slot; those of negative slots nowhere."""
    q_turned, k_turned = rotate_both(q, k, angles, turn, norms)
    if q is not None:
        q[...] = q_turned
    written = slots >= 0
    page, offset = np.divmod(slots[written], max(k_cache.shape[1], 1))
    k_cache[page, offset] = k_turned[written]
    if v is not None:
        v_cache[page, offset] = v[written]


def rotate_one(
    x: np.ndarray, angles: Angles, turn: Turn, weight: np.ndarray | None = None, epsilon: float = 0.0
) -> np.ndarray:
    """Rotate one array; the arguments are checked already.

    x = x / sqrt(mean(x^2) + epsilon) * weight, where there is a weight
    out[to_first]  = x[first] * cos - x[second] * sin
    out[to_second] = x[first] * sin + x[second] * cos

    `inverse` turns by the negative angle, and reads where the forward turn writes.

    Args:
        x: [..., tokens, heads, dim]
        angles: cos and sin, [table, pairs], float32, or frequencies, [pairs], float64, with a magnitude; and
            positions, [tokens] or [batch, tokens]; None for 0 to tokens - 1
        turn: how
        weight: [dim], of a norm over the channels of a head
        epsilon: of that norm

    Returns:
        as `x`: computed in float64, rounded once to its dtype; channels that do not turn keep their bits, unless
        they are normalised

    Source: Su et al. 2021, arXiv:2104.09864, equations 13 and 34.
    Differs from the paper: the paper has the interleaved pairing over the whole head; "half" renames channels.
    """
    pairs = angles.pairs
    positions = np.arange(x.shape[-3]) if angles.positions is None else angles.positions
    # [..., tokens, pairs], or [..., tokens, 1] where all pairs have the same.
    by_pair = (
        positions[..., None] if angles.axis_of_pair is None else np.moveaxis(positions[angles.axis_of_pair], 0, -1)
    )
    if angles.frequencies is None:
        cos, sin = angles.cos[by_pair, np.arange(pairs)], angles.sin[by_pair, np.arange(pairs)]
    else:
        turns = by_pair.astype(np.float64) * angles.frequencies
        cos, sin = ((angles.magnitude * table).astype(np.float32) for table in (np.cos(turns), np.sin(turns)))
    # One row a token, the same for every head.
    cos, sin = (table.astype(np.float64)[..., None, :] for table in (cos, sin))
    start = rotary_start(x, pairs, turn.part)
    first, second, to_first, to_second = (start + channel for channel in channels(turn.pairing, pairs))
    if turn.inverse:
        sin = -sin
        first, second, to_first, to_second = to_first, to_second, first, second
    with np.errstate(invalid="ignore", over="ignore"):  # infinities and NaN go through as IEEE 754 says
        wide = x.astype(np.float64)
        if weight is not None:
            wide = wide / np.sqrt(np.mean(wide * wide, axis=-1, keepdims=True) + epsilon) * weight.astype(np.float64)
        a, b = wide[..., first], wide[..., second]
        out = x.copy() if weight is None else wide.astype(x.dtype)
        out[..., to_first] = a * cos - b * sin
        out[..., to_second] = a * sin + b * cos
    return out
