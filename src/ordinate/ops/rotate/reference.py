"""The definition of `rotate`, in NumPy and float64."""

import numpy as np

from ordinate.ops.rotate.arguments import Angles, Turn, rotary_start


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


def rotate_one(x: np.ndarray, angles: Angles, turn: Turn) -> np.ndarray:
    """Rotate one array; the arguments are checked already.

    out[to_first]  = x[first] * cos - x[second] * sin
    out[to_second] = x[first] * sin + x[second] * cos

    `inverse` turns by the negative angle, and reads where the forward turn writes.

    Args:
        x: [..., tokens, heads, dim]
        angles: cos and sin, [table, pairs], float32, or frequencies, [pairs], float64, with a magnitude; and
            positions, [tokens] or [batch, tokens]; None for 0 to tokens - 1
        turn: how

    Returns:
        as `x`: computed in float64, rounded once to its dtype; channels that do not turn keep their bits

    Source: Su et al. 2021, arXiv:2104.09864, equations 13 and 34.
    Differs from the paper: the paper has the interleaved pairing over the whole head; "half" renames channels.
    """
    pairs = angles.pairs
    positions = np.arange(x.shape[-3]) if angles.positions is None else angles.positions
    if angles.frequencies is None:
        cos, sin = angles.cos[positions], angles.sin[positions]
    else:
        turns = positions[..., None].astype(np.float64) * angles.frequencies
        cos, sin = ((angles.magnitude * table).astype(np.float32) for table in (np.cos(turns), np.sin(turns)))
    # One row a token, the same for every head.
    cos, sin = (table.astype(np.float64)[..., None, :] for table in (cos, sin))
    start = rotary_start(x, pairs, turn.part)
    first, second, to_first, to_second = (start + channel for channel in channels(turn.pairing, pairs))
    if turn.inverse:
        sin = -sin
        first, second, to_first, to_second = to_first, to_second, first, second
    a, b = x[..., first].astype(np.float64), x[..., second].astype(np.float64)
    out = x.copy()
    with np.errstate(invalid="ignore", over="ignore"):  # infinities and NaN go through as IEEE 754 says
        out[..., to_first] = a * cos - b * sin
        out[..., to_second] = a * sin + b * cos
    return out


def rotate_one_(x: np.ndarray, angles: Angles, turn: Turn) -> None:
    """`rotate_one`, written into `x`."""
    x[...] = rotate_one(x, angles, turn)
