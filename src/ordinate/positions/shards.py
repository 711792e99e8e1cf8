"""The positions that each rank of a context-parallel group has, and the way back."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ordinate.errors import InputError, non_negative_integer, one_of, positive_integer

LAYOUTS = ("contiguous", "head-tail", "striped")


def shard_indices(tokens: int, ranks: int, layout: str) -> np.ndarray:
    """Which tokens each rank has.

    contiguous: rank r has the r-th of `ranks` equal runs
    head-tail:  the row is cut into 2 * ranks runs; rank r has the r-th and the r-th from the end, so that
                causal attention costs every rank the same (zigzag; the usual layout)
    striped:    rank r has tokens r, r + ranks, r + 2 ranks, ...

    Args:
        tokens: length of the row; a multiple of `ranks`, of 2 * ranks for head-tail
        ranks: size of the group
        layout: "contiguous", "head-tail" or "striped"

    Returns:
        [ranks, tokens / ranks], int64, indices along the row

    Raises:
        InputError: an unknown layout, or a row that does not divide; pad it first

    Source: head-tail: Llama team 2024, arXiv:2407.21783, section 3.3.2; striped: Brandon et al. 2023,
    arXiv:2311.09431.
    Differs from the paper: nothing.

    >>> shard_indices(8, 2, "head-tail")
    array([[0, 1, 6, 7],
           [2, 3, 4, 5]])
    """
    length, group = non_negative_integer("tokens", tokens), positive_integer("ranks", ranks)
    runs = 2 * group if one_of("layout", layout, LAYOUTS) == "head-tail" else group
    if length % runs:
        raise InputError(f"tokens must be a multiple of {runs} for {group} ranks, layout {layout}, got {length}")
    index = np.arange(length, dtype=np.int64)
    if layout == "striped":
        return index.reshape(-1, group).T.copy()
    pieces = index.reshape(runs, -1)
    if layout == "contiguous":
        return pieces
    return np.concatenate([pieces[:group], pieces[: group - 1 : -1]], -1)


def shard(array: Any, ranks: int, rank: int, layout: str, axis: int = -1) -> np.ndarray:
    """The part of `array` that one rank has.

    Args:
        array: positions, ids or labels, tokens along `axis`: [tokens], [batch, tokens], [3, batch, tokens]
        ranks: size of the group
        rank: which of them, from 0
        layout: "contiguous", "head-tail" or "striped", as in `shard_indices`
        axis: where the tokens are; the last, unless said

    Returns:
        a copy, tokens / ranks along `axis`, dtype kept

    Raises:
        InputError: a rank outside the group, an axis that is not there, or as `shard_indices`

    >>> shard([0, 1, 2, 3], ranks=2, rank=1, layout="striped")
    array([1, 3])
    """
    values = np.asarray(array)
    if not -values.ndim <= axis < values.ndim:
        raise InputError(f"axis must be one of the array's {values.ndim}, got {axis}")
    indices = shard_indices(values.shape[axis], ranks, layout)
    if non_negative_integer("rank", rank) >= len(indices):
        raise InputError(f"rank must be below ranks {len(indices)}, got {rank}")
    return np.take(values, indices[rank], axis)


def unshard(parts: Sequence[Any], layout: str, axis: int = -1) -> np.ndarray:
    """Put the parts of all ranks together again: the inverse of `shard`.

    Args:
        parts: one array a rank, in rank order, of equal shapes
        layout: as they were cut
        axis: where the tokens are

    Returns:
        the whole, tokens in order along `axis`, dtype kept

    Raises:
        InputError: no parts, parts of different shapes, or a length that the layout does not cut

    >>> unshard([[0, 1, 6, 7], [2, 3, 4, 5]], "head-tail")
    array([0, 1, 2, 3, 4, 5, 6, 7])
    """
    arrays = [np.asarray(part) for part in parts]
    shapes = {part.shape for part in arrays}
    if len(shapes) != 1:
        raise InputError(f"parts must be at least one and of equal shape, got {sorted(map(list, shapes))}")
    if not -arrays[0].ndim <= axis < arrays[0].ndim:
        raise InputError(f"axis must be one of the parts' {arrays[0].ndim}, got {axis}")
    whole = np.concatenate(arrays, axis)
    indices = shard_indices(whole.shape[axis], len(arrays), layout)
    return np.take(whole, np.argsort(indices, axis=None), axis)
