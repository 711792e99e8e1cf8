"""Rotary position embedding as a module."""

from typing import Any, cast, get_args

import numpy as np
import torch
from jaxtyping import Float, Float32, Integer
from torch import Tensor

from ordinate.errors import InputError, got, one_of
from ordinate.ops.rotate import rotate
from ordinate.ops.rotate.arguments import Pairing
from ordinate.scaling.base import checked_length
from ordinate.schemes.axial import Axial
from ordinate.schemes.base import Rotary
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup
from ordinate.torch import float32
from ordinate.torch.adapters import Duplicate, duplicated
from ordinate.torch.checks import check_tensor
from ordinate.torch.kept import KeepsRows
from ordinate.torch.tables import Lookup, Rows, axes, compute_rows, look_up


class RotaryEmbedding(KeepsRows):
    """Tables of cos and sin for the positions of a batch, and the rotation of q and k by them.

    The module has no parameters and no buffers. Tables are float32, computed on the host in float64 from the group
    when they are needed; those of positions below `held` are kept, unless the method depends on the length.

    A state dict has no entry of this module. One that has an `inv_freq`, as old checkpoints do, loads if it agrees
    with this module's frequencies, before or after scaling, to bfloat16's precision; if not, loading is an error.

    A method that depends on the length takes the highest position of the batch + 1, as transformers does, so a row
    changes with its neighbours; pass `length` to fix it. Unlike transformers' modules this one keeps no state: equal
    lengths give equal tables whatever was asked before.

    Args:
        group: what turns: a `LayerGroup` of a `Spec`, or a rotary scheme without scaling
        pairing: how `rotate` pairs channels; the group's where not given
        float32_angles: compute in float32 as transformers does, to the bit, errors included
        duplicate: how `forward` fills the width: "half" as Llama's module, "interleaved" as Cohere's, "none" as
            gpt-oss's
        held: how many positions may be kept between calls, 8 * pairs bytes each

    Raises:
        InputError: nothing rotates in this group, or transformers has nothing like it to reproduce
    """

    def __init__(
        self,
        group: LayerGroup | Rotary,
        *,
        pairing: Pairing | None = None,
        float32_angles: bool = False,
        duplicate: Duplicate = "half",
        held: int = 32768,
    ) -> None:
        super().__init__(held)
        if isinstance(group, Rotary):
            group = LayerGroup("full_attention", encoding=group)
        if not isinstance(group, LayerGroup):
            raise InputError(f"group must be a LayerGroup or a rotary scheme, got {got(group)}")
        self.group = group
        self.pairing = pairing or group.pairing or group.rope.pairing
        if self.pairing != "unknown":
            one_of("pairing", self.pairing, get_args(Pairing))
        one_of("duplicate", duplicate, get_args(Duplicate))
        self.duplicate: Duplicate = duplicate
        self.float32_angles = float32_angles
        if float32_angles:
            float32.reproducible(group)
        self._static = group.stretch is None or "static" in group.stretch.traits
        self._turns: Tensor | None = None
        self._apart = group.rope.magnitudes(np.zeros(0, dtype=np.int64)) is not None

    @property
    def inv_freq(self) -> Tensor:
        """The frequencies at construction: [pairs], float32, [rad/token], where the module was last moved to."""
        if self.float32_angles:
            return self._float32_turns(self._device, None).to(self._device, copy=True)
        return torch.from_numpy(self.group.frequencies()).to(torch.float32).to(self._device)

    def forward(
        self, x: Tensor, position_ids: Integer[Tensor, "... tokens"]
    ) -> tuple[Float[Tensor, "... tokens width"], Float[Tensor, "... tokens width"]]:
        """What a rotary module of transformers returns.

        Args:
            x: any tensor of the dtype and on the device wanted
            position_ids: [batch, tokens] or [tokens], int32 or int64; [axes, batch, tokens] for several axes

        Returns:
            cos, sin: [batch, tokens, rotary_dim], or half of it for "none", of the dtype of `x`. Transformers keeps a
            reversed direction in the rotation, so the sin of a scheme of direction -1 is that of direction 1 here.
        """
        cos, sin = self.table(position_ids)
        if self._reversed:
            sin = -sin
        wide = (duplicated(table, self.duplicate) for table in (cos, sin))
        cos, sin = (table.to(device=x.device, dtype=x.dtype) for table in wide)
        return cos, sin

    def table(
        self, positions: Integer[Tensor, "... tokens"], length: int | None = None
    ) -> tuple[Float32[Tensor, "... tokens pairs"], Float32[Tensor, "... tokens pairs"]]:
        """The cos and sin of each token, as `ordinate.ops.rotate` reads them.

        Args:
            positions: [tokens] or [batch, tokens], int32 or int64, [token]; [axes, ...] for several axes
            length: tokens seen so far, for methods that depend on it; the highest position + 1 where not given

        Returns:
            cos, sin: [..., tokens, pairs], float32, magnitude included, on the device of `positions`

        Raises:
            InputError: positions of another shape or dtype, or a scheme that scales q and k apart (xPos)
        """
        if self._apart:
            raise InputError(f"{self.group.scheme} scales q and k apart and has no table for both: use `rotate`")
        found = self._look_up(positions, length)
        cos, sin = found.query
        return cos[found.rows], sin[found.rows]

    def rotate(
        self,
        q: Float[Tensor, "... tokens q_heads q_dim"] | None,
        k: Float[Tensor, "... tokens k_heads k_dim"] | None,
        positions: Integer[Tensor, "... tokens"] | None = None,
        *,
        inverse: bool = False,
        length: int | None = None,
    ) -> tuple[
        Float[Tensor, "... tokens q_heads q_dim"] | None,
        Float[Tensor, "... tokens k_heads k_dim"] | None,
    ]:
        """Rotate q and k, by `ordinate.ops.rotate`.

        Args:
            q, k: [batch, tokens, heads, head_dim] or [tokens, heads, head_dim]; either may be None
            positions: as in `table`; None for 0 to tokens - 1
            inverse: turn by the negative angle
            length: as in `table`

        Returns:
            q and k rotated

        Raises:
            InputError: a shape that does not fit, or a pairing that the group's files leave unknown
        """
        if self.pairing == "unknown":
            raise InputError("the files do not say how channels pair: give RotaryEmbedding a pairing")
        given = q if q is not None else k
        if given is None:
            raise InputError("rotate needs q or k, got neither")
        if positions is None:
            if axes(self.group) > 1:
                raise InputError(f"{self.group.scheme} needs positions, [{axes(self.group)}, ...], got None")
            positions = torch.arange(given.shape[-3], device=given.device)
        pairing = cast(Pairing, self.pairing)
        found = self._look_up_by_axis(positions, length)
        if found is not None:
            rows, axis_of_pair = found
            return rotate(q, k, *rows, positions, pairing, inverse=inverse, axis_of_pair=axis_of_pair)
        found = self._look_up(positions, length)
        part = self.group.rope.part if isinstance(self.group.rope, Rope) else "first"
        if not self._apart:
            return rotate(q, k, *found.query, found.rows, pairing, part=part, inverse=inverse)
        if q is not None:
            q, _ = rotate(q, None, *found.query, found.rows, pairing, part=part, inverse=inverse)
        if k is not None:
            _, k = rotate(None, k, *found.key, found.rows, pairing, part=part, inverse=inverse)
        return q, k

    @property
    def _reversed(self) -> bool:
        """Whether the tables turn the other way, as NanoChat's do."""
        return isinstance(self.group.rope, Rope) and self.group.rope.direction == -1

    @torch.compiler.disable(recursive=True)
    def _look_up(self, positions: Tensor, length: int | None) -> Lookup:
        """Rows for these positions: kept ones where they serve, computed ones elsewhere."""
        self._check(positions)
        checked_length(length)
        if self._static:
            length = None
        elif torch.compiler.is_exporting():
            if length is None:
                raise InputError(
                    f"{self.group.scaling} depends on the length: an exported graph needs length, got None"
                )
        elif length is None and positions.numel() and not positions.is_meta:
            length = max(int(positions.max()) + 1, 1)
        if torch.compiler.is_exporting():
            return self._look_up_in_graph(positions, length)
        if self.float32_angles:
            return self._look_up_float32(positions, length)
        if self._static and axes(self.group) == 1 and not self._apart:
            rows = self._kept(positions)
            if rows is not None:
                cos, sin = rows
                return Lookup((cos, sin), (cos, sin), positions)
        return look_up(self.group, positions, length)

    @torch.compiler.disable(recursive=True)
    def _look_up_by_axis(self, positions: Tensor, length: int | None) -> tuple[Rows, Tensor] | None:
        """Kept rows of every pair and the axis of each, so that no row is made for a token; None where none serve."""
        rope, usual = self.group.rope, self._static and not self.float32_angles
        if not usual or not isinstance(rope, (Axial, Multimodal)) or torch.compiler.is_exporting():
            return None
        self._check(positions)
        checked_length(length)
        rows = self._kept(positions)
        return None if rows is None else ((rows[0], rows[1]), torch.from_numpy(rope.axis_of_pair).to(positions.device))

    def _look_up_in_graph(self, positions: Tensor, length: int | None) -> Lookup:
        """A row for each token, computed from its position in PyTorch's own operators, angles in float64."""
        if axes(self.group) > 1 or self._apart:
            raise InputError(f"{self.group.scheme} cannot be exported: its table is not one of one position a token")
        if self.float32_angles:
            turns = float32.frequencies(self.group, None if length is None else torch.tensor(length))
            cos, sin = float32.table(self.group, positions, turns, length)
        else:
            turns = torch.tensor(self.group.frequencies(length).tolist(), dtype=torch.float64, device=positions.device)
            angles, factor = positions.double()[..., None] * turns, self.group.attention_factor(length)
            cos, sin = ((factor * wide).float() for wide in (angles.cos(), angles.sin()))
        if self._reversed:
            sin = -sin
        both = (cos.flatten(0, -2), sin.flatten(0, -2))
        return Lookup(both, both, torch.arange(positions.numel(), device=positions.device).view(positions.shape))

    def _look_up_float32(self, positions: Tensor, length: int | None) -> Lookup:
        cos, sin = float32.table(self.group, positions, self._float32_turns(positions.device, length), length)
        if self._reversed:  # transformers' own tables know one direction
            sin = -sin
        lead = cos.shape[:-1]
        both = (cos.flatten(0, -2), sin.flatten(0, -2))
        return Lookup(both, both, torch.arange(lead.numel(), device=positions.device).view(lead))

    @torch.inference_mode(False)
    def _float32_turns(self, device: torch.device, length: int | None) -> Tensor:
        """Transformers' frequencies: kept where the length has no part in them."""
        if length is not None:
            return float32.frequencies(self.group, torch.tensor(length, dtype=torch.int64, device=device))
        if self._turns is None:
            self._turns = float32.frequencies(self.group)
        return self._turns

    def _compute(self, positions: np.ndarray) -> tuple[Tensor, ...]:
        if axes(self.group) > 1:  # a row of every pair, whatever axis it follows
            positions = np.tile(positions, (axes(self.group), 1))
        rows, _ = compute_rows(self.group, positions, None)
        return rows

    def _check(self, positions: Any) -> None:
        count = axes(self.group)
        wanted = "[tokens] or [batch, tokens]" if count == 1 else f"[{count}, tokens] or [{count}, batch, tokens]"
        check_tensor("positions", positions)
        fits = positions.ndim in (1, 2) if count == 1 else positions.ndim in (2, 3) and len(positions) == count
        if not fits:
            raise InputError(f"positions must have shape {wanted}, got {list(positions.shape)}")

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )
        key = prefix + "inv_freq"
        if key not in state_dict:
            return
        if key in unexpected_keys:
            unexpected_keys.remove(key)
        if not self._agrees(state_dict[key]):
            error_msgs.append(
                f"{key} differs from this module's frequencies: the checkpoint is of another base or scaling"
            )

    def _agrees(self, saved: Tensor) -> bool:
        """Whether a checkpoint's frequencies are these, as far as half precision tells."""
        if saved.is_meta:
            return True
        found = saved.detach().to(device="cpu", dtype=torch.float64)
        own = (self.group.frequencies(), self.group.rope.plain())
        return any(
            found.shape == expected.shape and torch.allclose(found, torch.from_numpy(expected), rtol=2**-8, atol=2**-24)
            for expected in own
        )

    def extra_repr(self) -> str:
        """What `print(module)` says."""
        scaling = f", scaling={self.group.scaling}" if self.group.scaling else ""
        angles = ", float32_angles=True" if self.float32_angles else ""
        return f"{self.group.scheme}, pairs={self.group.rope.pairs}, pairing={self.pairing}{scaling}{angles}"
