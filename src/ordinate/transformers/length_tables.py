"""Tables of cos and sin under one length after the other."""

import numpy as np
import torch
from torch import Tensor

from ordinate.errors import InputError
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup

# Tables of rows that no other row shares, held for the layers of one pass; past it they are made again in each layer.
_HELD = 256 * 2**20  # [bytes]
# Positions whose angles are computed; all others are sums of one of these and a multiple of so many.
_STEP = 128  # [token]


class LengthTables:
    """cos and sin of a group whose scaling depends on the length.

    cos, sin of (a + b) come from those of a and b by one complex product in float64, ten times as fast as from the
    angle; the difference, 3e-16, is lost in float32.

    Args:
        group: the layers

    Raises:
        InputError: a scheme of several positions a token
    """

    def __init__(self, group: LayerGroup) -> None:
        if not isinstance(group.rope, Rope):
            raise InputError(
                f"group {group.layer_type!r} must turn by one position a token to have its keys kept un-rotated, got "
                f"{group.scheme}"
            )
        self._group = group
        self._held: dict[tuple[int, torch.device], tuple[Tensor, Tensor]] = {}
        self._rows: dict[int, tuple[Tensor, Tensor, Tensor]] = {}
        self._bytes = 0

    def forget(self) -> None:
        """Drop the tables that a single row has used."""
        self._held = {key: tables for key, tables in self._held.items() if not key[0]}
        self._rows = {}
        self._bytes = 0

    # Tensors made in inference mode could not be saved for a later backward pass.
    @torch.inference_mode(False)
    def table(self, length: int, rows: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """cos and sin of the positions below `rows`, and perhaps of more: [rows, pairs], float32.

        Args:
            length: settled, 0 for that of no token, [token]
            rows: how many positions, [token]
            device: where the table is to be
        """
        key = (length, device)
        found = self._held.get(key)
        if found is not None and len(found[0]) >= rows:
            return found
        # Within the window tables serve every pass, and grow with the text.
        cos, sin = (part.to(device) for part in self._made(length or None, rows if length else _rounded_up(rows)))
        size = cos.nbytes + sin.nbytes
        if not length or self._bytes + size <= _HELD:
            self._held[key] = (cos, sin)
            self._bytes += size if length else 0
        return cos, sin

    @torch.inference_mode(False)
    def rows(self, length: int, positions: Tensor) -> tuple[Tensor, Tensor]:
        """cos and sin at these positions alone: [positions, pairs], float32, on their device.

        Args:
            length: as in `table`
            positions: [positions], int64, [token]
        """
        positions = positions.clone()
        found = self._rows.get(length)
        if found is not None and torch.equal(found[0].to(positions.device), positions):
            return found[1], found[2]
        tables = self._group.table(positions.cpu().numpy(), length or None)
        cos, sin = (torch.from_numpy(part).to(positions.device) for part in tables)
        size = cos.nbytes + sin.nbytes
        if self._bytes + size <= _HELD:
            self._rows[length] = positions, cos, sin
            self._bytes += size
        return cos, sin

    def _made(self, length: int | None, rows: int) -> tuple[Tensor, Tensor]:
        rope, frequencies = self._group.rope, self._group.frequencies(length)
        near, far = (
            torch.from_numpy(rope.angles(positions, frequencies))
            for positions in (np.arange(_STEP), np.arange(0, rows, _STEP))
        )
        magnitude = torch.full_like(far, self._group.attention_factor(length))
        turns = torch.polar(magnitude, far)[:, None] * torch.polar(torch.ones_like(near), near)
        turns = turns.flatten(0, 1)[:rows]
        return turns.real.float(), turns.imag.float()


def _rounded_up(rows: int) -> int:
    return 2 ** (rows - 1).bit_length()
