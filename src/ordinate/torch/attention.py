"""Attention with what one group of layers does with position, as a module."""

from typing import Any, cast

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from ordinate.errors import InputError, boolean, got
from ordinate.ops.attend import attend
from ordinate.ops.rotate.arguments import Pairing
from ordinate.schemes.base import Bias, Rotary, Scheme
from ordinate.spec import LayerGroup
from ordinate.torch.bias import PositionBias
from ordinate.torch.rotary import RotaryEmbedding


class PositionAttention(nn.Module):
    """Attention of queries to keys with the rotation, bias, window and temperature of a group of layers.

    q and k come as they are projected, unrotated, and so do keys from a cache. What a bias learns are parameters under
    `bias.learned`. An additive scheme has done its work on the embeddings and adds nothing here.

    Args:
        group: a `LayerGroup` of a `Spec`, or a scheme of any kind
        causal: whether keys after the query are hidden
        pairing: how q and k pair channels; the group's where not given
        reach: for a bias by distance, as in `PositionBias.attend_arguments`; needed to export it, [token]
        seed: what the initial values of a bias are drawn from
        device, dtype: of a bias's parameters

    Raises:
        InputError: neither a group nor a scheme, or a reach where there is no bias by distance
    """

    def __init__(
        self,
        group: LayerGroup | Scheme,
        *,
        causal: bool = True,
        pairing: Pairing | None = None,
        reach: int | None = None,
        seed: int = 0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if isinstance(group, Scheme):
            group = LayerGroup("full_attention", encoding=group)
        if not isinstance(group, LayerGroup):
            raise InputError(f"group must be a LayerGroup or a scheme, got {got(group)}")
        self.group = group
        self.causal = boolean("causal", causal)
        self.reach = reach
        scheme = group.encoding
        self.rotary = RotaryEmbedding(group, pairing=pairing) if isinstance(scheme, Rotary) else None
        self.bias = PositionBias(scheme, seed=seed, device=device, dtype=dtype) if isinstance(scheme, Bias) else None
        if reach is not None:
            if self.bias is None:
                raise InputError(f"reach belongs to a bias by distance, got {reach} for {group.scheme}")
            self.bias.attend_arguments(reach)  # refuses what is not one

    def forward(
        self,
        q: Float[Tensor, "batch query heads head_dim"],
        k: Float[Tensor, "batch key kv_heads head_dim"],
        v: Float[Tensor, "batch key kv_heads v_dim"],
        query_positions: Integer[Tensor, "... query"] | None = None,
        key_positions: Integer[Tensor, "... key"] | None = None,
        *,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch query heads v_dim"]:
        """Attend.

        Args:
            q: [batch, query, heads, head_dim], unrotated
            k: [batch, key, kv_heads, head_dim], unrotated
            v: [batch, key, kv_heads, v_dim]
            query_positions: [query] or [batch, query], int32 or int64, [token]; None where the last query stands where
                the last key does
            key_positions: [key] or [batch, key], [token]; None for 0, 1, 2, ...
            mask: bool, broadcasts to [batch, heads, query, key], True where a query sees a key

        Returns:
            [batch, query, heads, v_dim], of the dtype of `q`

        Raises:
            InputError: what `attend` or `rotate` refuses, or key positions alone
        """
        if query_positions is None and key_positions is not None:
            raise InputError("key_positions needs query_positions, got None")
        group = self.group
        options: dict[str, Any] = {} if self.bias is None else self.bias.attend_arguments(self.reach)
        if self.rotary is not None or group.temperature is not None:
            keys, queries = k.shape[1], q.shape[1]
            at = query_positions
            if at is None:
                at = torch.arange(queries, device=q.device) + (keys - queries)
            if self.rotary is not None:
                q = cast(Tensor, self.rotary.rotate(q, None, at)[0])
                k = cast(Tensor, self.rotary.rotate(None, k, key_positions)[1])
            if group.temperature is not None:
                factors = group.temperature.factors(at.reshape(-1).cpu().numpy())
                options["query_scale"] = torch.from_numpy(factors).to(q.device, torch.float32).view(at.shape)
        window = None
        if group.sliding_window is not None:
            window = (group.sliding_window - 1, None if self.causal else group.sliding_window - 1)
        return attend(
            q,
            k,
            v,
            causal=self.causal,
            softmax_scale=group.softmax_scale,
            window=window,
            query_positions=query_positions,
            key_positions=key_positions,
            mask=mask,
            **options,
        )

    def extra_repr(self) -> str:
        """What `print(module)` says."""
        window = "" if self.group.sliding_window is None else f", sliding_window={self.group.sliding_window}"
        return f"{self.group.scheme}, causal={self.causal}{window}"
