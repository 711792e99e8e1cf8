"""Exact float32 tables for the positions of a batch, from the NumPy float64 code."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ordinate.spec import LayerGroup

Rows = tuple[Tensor, Tensor]
"""cos and sin: [rows, pairs] each, float32."""


@dataclass(frozen=True)
class Lookup:
    """Tables of q and of k, and for each token the row that is its own."""

    query: Rows
    key: Rows
    rows: Tensor


def compute_rows(group: LayerGroup, positions: np.ndarray, length: int | None) -> tuple[Rows, Rows]:
    """The tables of q and of k; one and the same unless the scheme's magnitude tells them apart (xPos).

    Args:
        group: a group that rotates
        positions: [positions], or [axes, positions]
        length: tokens seen so far; None for what an engine holds at construction

    Returns:
        cos and sin of q, cos and sin of k: [positions, pairs] each, on the CPU
    """
    magnitudes = group.rope.magnitudes(positions)
    if magnitudes is None:
        both = _on_cpu(*group.table(positions, length))
        return both, both
    factor, angles = group.attention_factor(length), group.rope.angles(positions, group.frequencies(length))
    cos, sin = np.cos(angles) * factor, np.sin(angles) * factor
    query, key = (_on_cpu((cos * m).astype(np.float32), (sin * m).astype(np.float32)) for m in magnitudes)
    return query, key


def look_up(group: LayerGroup, positions: Tensor, length: int | None) -> Lookup:
    """Compute a row for each position that occurs.

    Args:
        group: a group that rotates
        positions: [...], or [axes, ...] for a scheme of several axes, on any device
        length: as in `compute_rows`
    """
    device = positions.device
    if device.type == "meta":
        row = torch.empty((1, group.rope.pairs), dtype=torch.float32, device=device)
        lead = positions[0] if axes(group) > 1 else positions
        both = (row, row)
        return Lookup(both, both, lead)
    host = positions.cpu().numpy()
    if axes(group) > 1:
        lead = host.shape[1:]
        found, index = host.reshape(len(host), -1), np.arange(int(np.prod(lead)))
    else:
        lead = host.shape
        found, index = np.unique(host, return_inverse=True)
    query, key = compute_rows(group, found, length)
    placed = query[0].to(device), query[1].to(device)
    other = placed if key is query else (key[0].to(device), key[1].to(device))
    return Lookup(placed, other, torch.from_numpy(index.reshape(lead)).to(device))


def axes(group: LayerGroup) -> int:
    """How many positions a token has."""
    return getattr(group.rope, "axes", 1)


def _on_cpu(cos: np.ndarray, sin: np.ndarray) -> Rows:
    return torch.from_numpy(cos), torch.from_numpy(sin)
