"""Positions of sequences that lie one after another in a row."""

from typing import Any

import numpy as np

from ordinate.errors import InputError
from ordinate.ops.rotate.arguments import dtype_name, has_values


def positions_in_sequences(x: Any, cu_seqlens: Any) -> Any:
    """Each token's position in its own sequence.

    position[i] = i - cu_seqlens[s], where cu_seqlens[s] <= i < cu_seqlens[s + 1]

    Args:
        x: [tokens, heads, dim]
        cu_seqlens: [sequences + 1], int32 or int64: 0, the end of each sequence, tokens

    Returns:
        [tokens], int64, of the library and on the device of `cu_seqlens`

    Raises:
        InputError: another shape or dtype, or ends that are not in order from 0 to tokens

    >>> positions_in_sequences(np.zeros((5, 1, 2)), np.array([0, 2, 2, 5]))
    array([0, 1, 0, 1, 2])
    """
    if len(x.shape) != 3:
        raise InputError(f"cu_seqlens needs packed q and k, [tokens, heads, dim], got {list(x.shape)}")
    if dtype_name(cu_seqlens) not in ("int32", "int64"):
        raise InputError(f"cu_seqlens must be int32 or int64, got {dtype_name(cu_seqlens)}")
    if len(cu_seqlens.shape) != 1 or cu_seqlens.shape[0] < 1:
        raise InputError(f"cu_seqlens must have shape [sequences + 1], got {list(cu_seqlens.shape)}")
    tokens = x.shape[0]
    if has_values(cu_seqlens):
        first, last = int(cu_seqlens[0]), int(cu_seqlens[-1])
        if first != 0 or last != tokens or bool((cu_seqlens[1:] < cu_seqlens[:-1]).any()):
            raise InputError(f"cu_seqlens must rise from 0 to {tokens}, got {cu_seqlens.tolist()}"[:200])
    if isinstance(x, np.ndarray):
        index = np.arange(tokens)
        return index - cu_seqlens.astype(np.int64)[np.searchsorted(cu_seqlens, index, side="right") - 1]
    import torch

    index = torch.arange(tokens, device=x.device)
    starts = cu_seqlens.to(torch.int64)
    return index - starts[torch.searchsorted(starts, index, right=True) - 1]
