"""A scheme that is a function of distance, as the slopes or the table that every backend reads."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from ordinate.ops.attend.arguments import Call
from ordinate.ops.attend.blocks import full_precision
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.base import DistanceBias

SPARSE = 8
"""How many times the tokens of a call a table may have entries; beyond it only the distances that occur are made."""


def with_tables(call: Call) -> Call:
    """The same call of tensors, its scheme replaced where slopes or a table in O(tokens) memory say as much."""
    scheme = call.scheme
    if not isinstance(scheme, DistanceBias) or call.q.is_meta:
        return call
    arithmetic = torch.float64 if call.q.dtype == torch.float64 else torch.float32
    if isinstance(scheme, Alibi) and call.slopes is None and (scheme.symmetric or call.causal):
        slopes = torch.from_numpy(scheme.slopes).to(call.q.device, arithmetic)
        return replace(call, scheme=None, slopes=slopes[None])
    reach = _furthest(call)
    if call.by_distance is not None or reach is None:
        return call
    # Key minus query goes from -reach to reach, and a scheme's distance is query minus key.
    distance = np.arange(reach, -reach - 1, -1)
    with full_precision(call.q.device.type):
        if call.learned:
            table = scheme.by_distance(distance, call.learned, torch)
        else:
            table = torch.from_numpy(scheme.by_distance(distance))
    return replace(call, scheme=None, learned={}, by_distance=table.to(call.q.device, arithmetic), reach=reach)


def _furthest(call: Call) -> int | None:
    """How far apart a query and a key of this call can be, [token]; None where a table of that reach is too large."""
    if call.query_positions is None:
        longest = call.queries, call.keys
        if call.packed:
            # Borders begin with 0: the first difference stands in where there is no sequence.
            longest = (
                int(borders.diff(prepend=borders[:1]).max()) for borders in (call.cu_seqlens_q, call.cu_seqlens_k)
            )
        return max(*longest, 1) - 1
    if call.query_positions.numel() == 0 or call.keys == 0:
        return 0
    first, last = _ends(call.query_positions)
    # A negative key position says that no key is there.
    lowest, highest = (0, call.keys - 1) if call.key_positions is None else (0, max(_ends(call.key_positions)[1], 0))
    reach = max(abs(last - lowest), abs(highest - first))
    return reach if 2 * reach + 1 <= SPARSE * (call.queries + call.keys) else None


def _ends(positions: Tensor) -> tuple[int, int]:
    lowest, highest = positions.aminmax()
    return int(lowest), int(highest)
