"""Cached keys, from one pair layout to the other."""

import numpy as np

from ordinate.errors import InputError, one_of
from ordinate.weights.cuts import PairLayout
from ordinate.weights.pairing import Part, half_order


def convert_keys(
    keys: np.ndarray, to: PairLayout, *, rotary_dim: int | None = None, part: Part = "first"
) -> np.ndarray:
    """Reorder the channels of keys, rotated or not, from one pair layout to the other.

    half[..., i] = interleaved[..., order[i]], order = `half_order(head_dim, rotary_dim, part)`

    A rotated key keeps the angle of each pair, so a cache that one engine filled serves another that pairs otherwise.
    DeepSeek in transformers caches rotary keys in half pairs although its files are interleaved.

    Args:
        keys: [..., heads, head_dim]; of MLA the rotary part alone, [..., rotary_dim]
        to: "half" or "interleaved"; the keys have the other one
        rotary_dim: channels that turn, even; all of the head where not given
        part: whether the "first" or the "last" `rotary_dim` channels turn

    Returns:
        a new array of the same shape and dtype

    Raises:
        InputError: an unknown layout or part, an odd or too large `rotary_dim`, keys without channels

    >>> convert_keys(np.arange(6)[None], "half", rotary_dim=4)
    array([[0, 2, 1, 3, 4, 5]])
    """
    one_of("to", to, ("half", "interleaved"))
    if keys.ndim < 1:
        raise InputError("keys must be [..., heads, head_dim], got a single number")
    order = half_order(keys.shape[-1], rotary_dim, part)
    return keys[..., order if to == "half" else np.argsort(order)]
