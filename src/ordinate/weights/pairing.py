"""The order of rotary channels in projections: interleaved (2i, 2i + 1) or half (i, i + pairs)."""

from typing import Literal

import numpy as np

from ordinate.errors import InputError, even_integer, one_of, positive_integer

Part = Literal["first", "last"]


def half_order(head_dim: int, rotary_dim: int | None = None, part: Part = "first") -> np.ndarray:
    """Where each channel of a half-paired head stands in the interleaved head.

    half[i] = interleaved[order[i]], order = 0, 2, 4, ..., 1, 3, 5, ... over the rotary channels

    Args:
        head_dim: channels of a head
        rotary_dim: channels that turn, even; all of the head where not given
        part: whether the "first" or the "last" `rotary_dim` channels turn; the others stay where they are

    Returns:
        [head_dim], int64; `numpy.argsort` of it leads back

    Raises:
        InputError: an odd or too large `rotary_dim`, an unknown part

    >>> half_order(6, rotary_dim=4)
    array([0, 2, 1, 3, 4, 5])
    """
    positive_integer("head_dim", head_dim)
    rotary_dim = even_integer("rotary_dim", head_dim if rotary_dim is None else rotary_dim)
    if rotary_dim > head_dim:
        raise InputError(f"rotary_dim must be <= head_dim {head_dim}, got {rotary_dim}")
    one_of("part", part, ("first", "last"))
    start = 0 if part == "first" else head_dim - rotary_dim
    order = np.arange(head_dim)
    turning = order[start : start + rotary_dim].copy()
    order[start : start + rotary_dim] = np.concatenate([turning[::2], turning[1::2]])
    return order


def interleaved_to_half(
    rows: np.ndarray, heads: int, head_dim: int, rotary_dim: int | None = None, part: Part = "first"
) -> np.ndarray:
    """Reorder the rows of a q or k projection from interleaved pairs to half pairs.

    With both q and k reordered, every score q·k stays what it was; v and the output projection are not touched.

    Args:
        rows: [heads * head_dim, ...]: the weight as [out, in], its bias as [out], LoRA's B as [out, rank];
            a gain that all heads share is a single head
        heads: heads of this projection: query heads for q, key-value heads for k
        head_dim: channels of a head
        rotary_dim: channels that turn, even; all of the head where not given
        part: whether the "first" or the "last" `rotary_dim` channels turn

    Returns:
        a new array of the same shape and dtype

    Raises:
        InputError: the number of rows is not heads * head_dim

    Source: Touvron et al. 2023, arXiv:2302.13971, pairs as Su et al. 2021 write them; Hugging Face's Llama pairs
    as GPT-NeoX does.
    Differs from the paper: nothing.

    >>> interleaved_to_half(np.arange(16), heads=2, head_dim=8).tolist()
    [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15]
    """
    return _reordered(rows, heads, head_dim, half_order(head_dim, rotary_dim, part))


def half_to_interleaved(
    rows: np.ndarray, heads: int, head_dim: int, rotary_dim: int | None = None, part: Part = "first"
) -> np.ndarray:
    """Reorder the rows of a q or k projection from half pairs to interleaved pairs: undoes `interleaved_to_half`.

    Args:
        rows: [heads * head_dim, ...]
        heads: heads of this projection: query heads for q, key-value heads for k
        head_dim: channels of a head
        rotary_dim: channels that turn, even; all of the head where not given
        part: whether the "first" or the "last" `rotary_dim` channels turn

    Returns:
        a new array of the same shape and dtype

    Raises:
        InputError: the number of rows is not heads * head_dim

    >>> half_to_interleaved(np.array([0, 2, 1, 3]), heads=1, head_dim=4).tolist()
    [0, 1, 2, 3]
    """
    return _reordered(rows, heads, head_dim, np.argsort(half_order(head_dim, rotary_dim, part)))


def _reordered(rows: np.ndarray, heads: int, head_dim: int, order: np.ndarray) -> np.ndarray:
    heads = positive_integer("heads", heads)
    if rows.ndim < 1 or rows.shape[0] != heads * head_dim:
        raise InputError(
            f"rows must begin with {heads} heads x {head_dim} channels = {heads * head_dim}, got shape {rows.shape}"
        )
    return rows.reshape(heads, head_dim, *rows.shape[1:])[:, order].reshape(rows.shape)
