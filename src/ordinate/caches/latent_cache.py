"""The cache of a layer with multi-head latent attention (MLA)."""

from collections.abc import Mapping
from typing import Any, Self

import torch
from torch import Tensor

from ordinate.caches import reading, writing
from ordinate.caches.cache import Cache
from ordinate.caches.latent import Expansion, Projection, attend_latent
from ordinate.caches.layouts.base import Layout
from ordinate.caches.regimes import Regime
from ordinate.caches.stamp import Kept
from ordinate.caches.storage import Storage
from ordinate.caches.turning import Turned, move_keys, rotate_keys
from ordinate.errors import InputError, boolean, got
from ordinate.spec import LayerGroup


class LatentCache(Cache):
    """The latent and the rotary key of each token: of one layer, for a batch of sequences of any lengths.

    A `Cache` whose keys are k_pe, the decoupled rotary key that all heads share, [batch, tokens, 1, rotary_dim], and
    whose values are the normalised latent, [batch, tokens, 1, latent_dim]. So every operation of `Cache` is one of this
    cache: k_pe alone turns, the latent stays as it is, and `append(k_pe, latent)` adds tokens.

    Args:
        group: the layers; their last `rotary_dim` channels turn
        expansion: W_UK and W_UV
        batch, keys, regime, layout, storage: as for `Cache`

    Raises:
        InputError: as `Cache`, or heads of the group that are not those of the expansion

    Source: DeepSeek-AI 2024, arXiv:2405.04434, section 2.1.
    """

    def __init__(
        self,
        group: LayerGroup,
        expansion: Expansion,
        batch: int = 1,
        *,
        keys: Kept = "unrotated",
        regime: Regime | None = None,
        layout: Layout | None = None,
        storage: str | Storage = "float32",
    ) -> None:
        if not isinstance(group, LayerGroup):
            raise InputError(f"group must be a LayerGroup, got {got(group)}")
        super().__init__(group, batch, keys=keys, regime=regime, layout=layout, storage=storage)
        _check(group, expansion)
        self._state.rotary_only = True
        self.expansion = expansion

    def attend(
        self,
        q: Tensor,
        positions: Tensor | None = None,
        *,
        causal: bool = True,
        softcap: float | None = None,
        sink_logits: Tensor | None = None,
        slopes: Tensor | None = None,
        by_distance: Tensor | None = None,
        reach: int | None = None,
        learned: Mapping[str, Any] | None = None,
        backend: str = "auto",
        projection: Projection = "absorbed",
    ) -> Tensor:
        """Attention of queries to all entries that they see, by `attend_latent`.

        Args:
            q: [batch, query, heads, nope_dim + rotary_dim], un-rotated, of the dtype of the expansion
            positions, causal, softcap, sink_logits, slopes, by_distance, reach, backend: as for `Cache.attend`
            learned: None; a group that rotates learns nothing
            projection: "absorbed" or "plain"

        Returns:
            [batch, query, heads, value_dim], of the dtype of q

        Raises:
            InputError: as `Cache.attend` and `attend_latent`
        """
        if learned is not None:
            raise InputError(f"a group that rotates learns nothing: learned must be None, got {list(learned)}")
        state = self._state
        queries = self._queries(q, positions)
        writing.check_regime(state, state.ends)
        reading.check_reach(state, queries, boolean("causal", causal))
        if state.memory is None:
            raise InputError("the cache must have entries to be attended to, got none")
        window = state.layout.reach or state.stamp.group.sliding_window
        given = {
            "softcap": softcap,
            "sink_logits": sink_logits,
            "slopes": slopes,
            "by_distance": by_distance,
            "reach": reach,
            "window": None if window is None else (window - 1, None if causal else window - 1),
            "keep_first": state.layout.sinks if window is not None else None,
        }
        options = {name: value for name, value in given.items() if value is not None}
        options |= {"causal": causal, "backend": backend, "projection": projection}
        out = q.new_zeros(*q.shape[:3], self.expansion.value_dim)
        for length, rows, columns in reading.groups(reading.query_lengths(state, queries)):
            which = torch.arange(self.batch) if rows is None else rows
            asked = torch.arange(q.shape[1]) if columns is None else columns
            part = q[which[:, None].to(q.device), asked.to(q.device)]
            made = self._of_length(part, queries.ranks[which[:, None], asked], which, length, options)
            out[which[:, None].to(q.device), asked.to(q.device)] = made
        there = (queries.ranks >= 0).to(q.device)
        return torch.where(there[..., None, None], out, 0)

    def fork(self) -> Self:
        made = super().fork()
        made.expansion = self.expansion
        return made

    def bytes_per_token(self) -> int:
        """What a token occupies in this cache, its latent and rotary key together, exactly, [byte]."""
        kept, dim = self._state.storage, self._state.stamp.group.rotary_dim
        return kept.bytes_per_head(self.expansion.latent_dim) + kept.bytes_per_head(dim or 0)

    def _of_length(self, q: Tensor, ranks: Tensor, which: Tensor, length: int, options: dict[str, Any]) -> Tensor:
        """Queries [rows, query, heads, dim] that are turned by one length, with all their keys."""
        state, memory = self._state, self._state.memory
        assert memory is not None  # noqa: S101
        group, dim = state.stamp.group, self.expansion.nope_dim
        # A query that is none stands at 0: what it reads is thrown away.
        ranks = ranks.clamp(min=0)
        wide = torch.float64 if q.dtype == torch.float64 else torch.float32
        k_pe, latent = memory.gathered(which, wide)
        k_pe = self._turned(k_pe, which, length).to(q.dtype)
        # Keys that are kept rotated may be turned from another place than 0: queries are then too.
        own = Turned(group, ranks + state.frames[which, None], torch.full_like(ranks, length))
        q_pe = rotate_keys(q[..., dim:], own, "query")
        options = options | {"query_positions": ranks.to(q.device), "key_positions": state.ranks[which].to(q.device)}
        if group.temperature is not None:
            factors = group.temperature.factors(ranks.reshape(-1).numpy())
            options["query_scale"] = torch.from_numpy(factors).to(q.device, torch.float32).view(ranks.shape)
        turned = torch.cat([q[..., :dim], q_pe], -1)
        return attend_latent(
            turned, latent.to(q.dtype), k_pe, self.expansion, softmax_scale=group.softmax_scale, **options
        )

    def _turned(self, k_pe: Tensor, which: Tensor, length: int) -> Tensor:
        """The rotary keys of rows, as they are kept, turned by a length."""
        state = self._state
        after = state.rows_at(which, torch.full_like(which, length))
        if state.stamp.kept == "unrotated":
            return rotate_keys(k_pe, after)
        lies = bool((state.lengths[which] == length).all())
        return k_pe if lies else move_keys(k_pe, state.rows_at(which), after)


def _check(group: LayerGroup, expansion: Expansion) -> None:
    """Raise `InputError` where a group's heads are not those of an expansion."""
    heads = group.heads
    if heads is None:
        return
    own = (expansion.heads, expansion.nope_dim + group.rope.rotary_dim, expansion.value_dim, expansion.latent_dim)
    wanted = (heads.query, heads.head_dim, heads.value_dim, heads.latent_dim)
    names = ("heads", "channels of a head", "channels of a value", "channels of a latent")
    for name, has, want in zip(names, own, wanted, strict=True):
        if has != want:
            raise InputError(f"the expansion must have the group's {want} {name}, got {has}")
