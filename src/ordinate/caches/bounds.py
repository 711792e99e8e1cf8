"""How far stored keys can be from exact ones once they have been moved."""

import torch
from torch import Tensor

from ordinate.caches.storage import Storage
from ordinate.caches.turning import Turned, move_keys
from ordinate.errors import InputError


def bound_of_move(storage: Storage, keys: Tensor, before: Turned, after: Turned, error: Tensor | None = None) -> Tensor:
    """The largest error that one move of stored keys can leave, in each number.

    e = ratio * hypot(error(first), error(second)) of the pair that a channel is in
    |moved - exact| <= e + bound(|exact| + e) + 2^-22 (|exact| + e)

    A move decodes keys, turns them by the difference of their angles, and encodes them again. `exact` are keys that
    were never rounded, turned the whole way; `ratio` is the magnitude after over before. A rotation keeps the length of
    a pair's error, and may put all of it on one of the two channels: sqrt(2) times the larger error at most. The second
    term is the rounding of what was turned; the third that of float32, in which keys are decoded and handed on.

    Next to the largest channel of a head, with w = `storage.worst`: (2 sqrt(2) w + 2 w^2) times that for a rotation.

    Args:
        storage: what encodes the keys
        keys: [batch, tokens, heads, dim], rotated as `before` says, as they were before they were stored
        before, after: how the keys are turned, and are to be
        error: [batch, tokens, heads, dim]: the largest error that the stored keys have already, such as the bound of
            the move before; that of being stored once where None

    Returns:
        [batch, tokens, heads, dim], float64

    Raises:
        InputError: as `move_keys`
    """
    if not isinstance(keys, Tensor) or keys.ndim != 4:
        raise InputError(f"keys must be [batch, tokens, heads, dim], got {list(getattr(keys, 'shape', ()))}")
    keys = keys.double()
    exact = move_keys(keys, before, after).abs()
    # A pair of ones is sqrt(2) long; after the move it is the ratio of magnitudes times that.
    ones = torch.ones_like(keys)
    ratio = _pair_lengths(move_keys(ones, before, after), after) / _pair_lengths(ones, after)
    error = ratio * _pair_lengths(storage.bound(keys) if error is None else error, after)
    return error + storage.bound(exact + error) + 2.0**-22 * (exact + error)


def _pair_lengths(x: Tensor, turned: Turned) -> Tensor:
    """The length of the pair that each channel is in; of a channel that does not turn, its own."""
    width = 2 * turned.group.rope.pairs
    start = x.shape[-1] - width if turned.part == "last" else 0
    out = x.abs()
    turning = out[..., start : start + width]
    if turned.pairing == "interleaved":
        lengths = torch.hypot(turning[..., 0::2], turning[..., 1::2]).repeat_interleave(2, -1)
    else:  # "interleaved-in-half-out" has written halves
        first, second = turning.chunk(2, -1)
        lengths = torch.hypot(first, second).repeat(1, 1, 1, 2)
    return torch.cat([out[..., :start], lengths, out[..., start + width :]], -1)
