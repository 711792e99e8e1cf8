"""The length that turns each row of a pass, under a regime."""

from collections.abc import Mapping

import torch
from torch import Tensor

from ordinate.caches import PerRow, Regime
from ordinate.scaling.base import Scaling
from ordinate.transformers.cache import PositionCache
from ordinate.transformers.call import Tokens


def row_lengths(
    regime: Regime, stretches: Mapping[str, Scaling | None], tokens: Tokens, cache: PositionCache | None
) -> dict[str, Tensor]:
    """For each group of layers the length that turns each token, each row of the batch by itself.

    Args:
        regime: which length that is
        stretches: the scaling of each group
        tokens: what the pass brings
        cache: what it follows

    Returns:
        [batch, tokens], int64, as `Scaling.settled` has it, 0 where that is None, [token]

    Raises:
        InputError: a position that the regime does not reach
    """
    positions, reached = tokens.positions, tokens.reached
    if cache is not None and cache.entries:
        reached = torch.maximum(reached, cache.next_positions(len(reached)))
    host, ends = positions.clamp(min=0).cpu().numpy(), reached.clamp(min=1).tolist()
    found = {}
    for name, stretch in stretches.items():
        if isinstance(regime, PerRow):
            rows = [regime.settled(stretch, of_row, end) for of_row, end in zip(host, ends, strict=True)]
        else:  # one length for all tokens of a row
            rows = [
                regime.settled(stretch, of_row.max(keepdims=True), end) * host.shape[1]
                for of_row, end in zip(host, ends, strict=True)
            ]
        found[name] = torch.tensor([[length or 0 for length in row] for row in rows], device=positions.device)
    return found


def are_turned_otherwise(cache: PositionCache, lengths: Mapping[str, Tensor]) -> bool:
    """Whether a cache has keys that another length turned than the one that is reached.

    Args:
        cache: what was turned before
        lengths: of the pass that follows, by group, as `row_lengths` has them
    """
    if not cache.entries:
        return False
    there = cache.positions >= 0
    return any(bool(((cache.turned(name) != of_rows[:, -1:]) & there).any()) for name, of_rows in lengths.items())
