"""Biases in the forms that other attention takes."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ordinate.errors import InputError, got, non_negative_integer
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.base import DistanceBias

ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


def alibi_slopes(scheme: Alibi, device: torch.device | str | None = None) -> Tensor:
    """flash-attention's `alibi_slopes`, and `attend`'s `slopes`: [heads], float32, [logit/token].

    Raises:
        InputError: not ALiBi, or one whose bias is 0 ahead, while theirs falls either way
    """
    if not isinstance(scheme, Alibi):
        raise InputError(f"scheme must be ALiBi to have slopes, got {got(scheme)}")
    if not scheme.symmetric:
        raise InputError("scheme must be symmetric, because slopes lower keys ahead too, got symmetric=False")
    return torch.from_numpy(scheme.slopes).to(device=device, dtype=torch.float32)


def slopes_score_mod(slopes: Tensor, offset: int = 0) -> ScoreMod:
    """FlexAttention's `score_mod` of ALiBi.

    score - slopes[head] * |query + offset - key|

    Args:
        slopes: [heads], float32, [logit/token]
        offset: where the first query stands, seen from the first key: keys - queries where the ends meet, [token]
    """
    _check_axes("slopes", slopes, 1)
    non_negative_integer("offset", offset)

    def score_mod(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        del batch
        return score - slopes[head] * (query + offset - key).abs()

    return score_mod


def by_distance_score_mod(by_distance: Tensor, reach: int, offset: int = 0) -> ScoreMod:
    """FlexAttention's `score_mod` of a table over distance, as `attend` takes it.

    score + by_distance[head, clamp(key - query - offset, -reach, reach) + reach]

    Args:
        by_distance: [heads, 2 * reach + 1], float32, [logit]
        reach: distances beyond it count as it, [token]
        offset: as for `slopes_score_mod`
    """
    _check_axes("by_distance", by_distance, 2)
    non_negative_integer("offset", offset)
    if by_distance.shape[1] != 2 * non_negative_integer("reach", reach) + 1:
        raise InputError(f"by_distance must have shape [heads, {2 * reach + 1}], got {list(by_distance.shape)}")

    def score_mod(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        del batch
        return score + by_distance[head, (key - query - offset).clamp(-reach, reach) + reach]

    return score_mod


def scheme_score_mod(
    scheme: DistanceBias,
    reach: int,
    learned: Mapping[str, Tensor] | None = None,
    offset: int = 0,
    device: torch.device | str | None = None,
) -> ScoreMod:
    """FlexAttention's `score_mod` of any scheme that is a function of distance: T5, KERPLE, Sandwich, ALiBi.

    Args:
        scheme: of the bias kind, of distance alone
        reach: the furthest that a query and a key are apart, [token]; beyond it distances count as it, which is exact
            for T5 from `max_distance` on, and for no other scheme
        learned: the scheme's learned parameters; gradients flow where FlexAttention has them
        offset: as for `slopes_score_mod`
        device: where the table is; that of the parameters where there are some

    Raises:
        InputError: a scheme that needs more than distance
    """
    if not isinstance(scheme, DistanceBias):
        raise InputError(f"scheme must be a bias of distance alone, got {got(scheme)}")
    distance = np.arange(non_negative_integer("reach", reach), -reach - 1, -1)
    table: Any = (
        scheme.by_distance(distance, learned, torch) if learned else torch.from_numpy(scheme.by_distance(distance))
    )
    return by_distance_score_mod(table.to(device=device, dtype=torch.float32), reach, offset)


def _check_axes(name: str, array: Tensor, axes: int) -> None:
    if array.ndim != axes:
        raise InputError(f"{name} must have {axes} {'axis' if axes == 1 else 'axes'}, got shape {list(array.shape)}")
