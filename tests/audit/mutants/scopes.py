"""Where in a model a fault is planted: all of it, one layer, one head, the rows after the first, or far positions."""

from dataclasses import dataclass

import torch

FAR = 64


@dataclass(frozen=True)
class Scope:
    """A part of a model's work: what lies outside it stays right.

    Args:
        name: as tests spell it
        layer: only this one
        head: only this key head, with the queries that read it
        first_row: rows before it are spared
        first_position: tokens at positions before it are spared
    """

    name: str
    layer: int | None = None
    head: int | None = None
    first_row: int = 0
    first_position: int = 0

    def reaches(self, layer):
        return self.layer is None or layer == self.layer

    def mask(self, heads, key_heads, positions):
        """[rows, heads, tokens], bool; `heads` of q or k, `key_heads` of k, positions [rows, tokens]."""
        rows, tokens = positions.shape
        inside = torch.ones(rows, heads, tokens, dtype=torch.bool, device=positions.device)
        if self.head is not None:
            read = torch.arange(heads, device=positions.device) // (heads // key_heads)
            inside &= (read == self.head)[None, :, None]
        inside &= (torch.arange(rows, device=positions.device) >= self.first_row)[:, None, None]
        return inside & (positions >= self.first_position)[:, None, :]


SCOPES = {
    scope.name: scope
    for scope in (
        Scope("everywhere"),
        Scope("one_layer", layer=1),
        Scope("one_head", head=1),
        Scope("later_rows", first_row=1),
        # No part that every fault is planted in: only batches of more than three rows show it.
        Scope("fourth_row_on", first_row=3),
        Scope("far", first_position=FAR),
    )
}
