"""Where the queries and keys of a call stand, as tensors."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ordinate.ops.attend.arguments import Call


@dataclass(frozen=True)
class Places:
    """Positions, and which keys are there.

    Args:
        queries: [batch or 1, query], int64, [token]
        keys: [batch or 1, key], int64, [token]
        there: [batch or 1, key], bool; None where all are
    """

    queries: Tensor
    keys: Tensor
    there: Tensor | None


def dense_places(call: Call) -> Places:
    """Those of a dense or paged call."""
    device, lengths = call.q.device, call.key_lengths
    index = torch.arange(call.keys, device=device)[None]
    there = None if lengths is None else index < lengths[:, None]
    keys = index
    if call.key_positions is not None:
        keys = call.key_positions.long()
        there = keys >= 0 if there is None else there & (keys >= 0)
    if call.query_positions is not None:
        return Places(call.query_positions.long(), keys, there)
    # The last query stands where the last key does.
    first = torch.arange(call.queries, device=device)[None] - call.queries
    return Places(first + (call.keys if lengths is None else lengths[:, None].long()), keys, there)


def packed_places(call: Call, of_query: Tensor, of_key: Tensor) -> Places:
    """Those of packed sequences, each counted from its own start: row 0 has them all."""
    if call.query_positions is not None:
        queries = call.query_positions.long()
    else:
        start, ends = call.cu_seqlens_q.long(), call.cu_seqlens_k.long()
        # Of each sequence, how far its queries lie after their place in the pack.
        ahead = ends.diff() - start[1:]
        queries = (torch.arange(call.queries, device=call.q.device) + ahead[of_query])[None]
    if call.key_positions is not None:
        keys = call.key_positions.long()
        return Places(queries, keys, keys >= 0)
    keys = torch.arange(call.keys, device=call.q.device) - call.cu_seqlens_k.long()[of_key]
    return Places(queries, keys[None], None)


def sequence_of(borders: Tensor, tokens: int) -> Tensor:
    """Which sequence each token of a pack is of: [tokens], int64."""
    token = torch.arange(tokens, device=borders.device)
    return torch.searchsorted(borders[1:].long(), token, right=True)
