"""The keys and values of one layer, for a batch of sequences of any lengths."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ordinate.caches import reading, reuse, writing
from ordinate.caches.layouts.base import Layout
from ordinate.caches.layouts.dense import Dense
from ordinate.caches.layouts.ring import Ring
from ordinate.caches.operations import Operations, checked_group, checked_regime
from ordinate.caches.reading import Queries
from ordinate.caches.regimes import PerRow, Regime
from ordinate.caches.stamp import Kept, Stamp
from ordinate.caches.state import State
from ordinate.caches.storage import Storage, storage
from ordinate.caches.tables import Tables, one_table
from ordinate.caches.transaction import ordinary_tensors, transaction
from ordinate.caches.turning import check_pairing
from ordinate.errors import InputError, boolean, got, positive_integer
from ordinate.schemes.base import Scheme
from ordinate.spec import LayerGroup


class Cache(Operations):
    """Keys and values of one layer, each entry with its position, valid for one group of layers under one regime.

    An operation gives what rotating the same un-rotated keys at the new positions gives. It cannot give what encoding
    another text would have given: from the second layer on, keys come from hidden states that have read what was before
    them, and still hold it.

    Kept un-rotated, keys are turned while attention reads them, and no operation rounds anything. Kept rotated, they
    are read as they lie; where they must be turned it is by the difference of two angles, in float64, and rounded once
    by their storage. A shift leaves them as they lie and turns queries further; what stands before it (sinks) is turned
    from what it was before the first shift. So 1,000 shifts in a row cost what one does: less than 2e-7 of a key's
    length in float32, 5e-4 in float16, 4e-3 in bfloat16, 0.02 in int8 and 0.07 in fp8. Keys of xPos, whose magnitudes
    would leave float32 so, are turned and rounded by each shift: keep them un-rotated, or in float32. Under Dynamic NTK
    past its window rotated keys are turned in a copy at each step. Biases (ALiBi, T5, ...) and NoPE rotate nothing:
    only positions move.

    Angles are float64, which has no digits left far out: keys turn at positions below 2^42 (4.4e12) where pairs turn by
    1 rad a token or less, sooner in proportion where by more. There an angle is within 1e-3 rad of its own, at 2^22
    within 1e-9. What rotates nothing stands at any position below 2^53.

    Args:
        group: the layers: a `LayerGroup` of a `Spec`, or a scheme
        batch: how many sequences
        keys: "unrotated" or "rotated": how keys are kept
        regime: what length-dependent methods are told; `PerRow()` where not given
        layout: `Dense()`, `Paged(pages, page_size)` or `Ring(window, keep_first)`; `Dense()` where not given
        storage: how numbers are kept: a name of `ordinate.caches.storage.storages()`, or a `Storage`
        tables: the tables of a group, to be shared by layers; made where not given

    Raises:
        InputError: keys that nothing can rotate, a ring without a window, tables of another group

    >>> from ordinate.schemes.rope import Rope
    >>> cache = Cache(Rope(head_dim=8), batch=2)
    >>> q, k, v = (torch.ones(2, 3, 1, 8) for _ in range(3))
    >>> cache.append(k, v)
    >>> cache.attend(q).shape, cache.lengths.tolist()
    (torch.Size([2, 3, 1, 8]), [3, 3])
    """

    def __init__(
        self,
        group: LayerGroup | Scheme,
        batch: int = 1,
        *,
        keys: Kept = "unrotated",
        regime: Regime | None = None,
        layout: Layout | None = None,
        storage: str | Storage = "float32",
        tables: Tables | None = None,
    ) -> None:
        group = checked_group(group)
        stamp = Stamp(group, keys, checked_regime(regime) or PerRow())
        check_pairing(group)
        layout = layout or Dense()
        if not isinstance(layout, Layout):
            raise InputError(
                "layout must be Dense(), Paged(pages, page_size) or Ring(window, keep_first) of ordinate.caches, got "
                f"{got(layout)}"
            )
        if isinstance(layout, Ring):
            layout = layout.of(group)
        if tables is not None and not isinstance(tables, Tables):
            raise InputError(f"tables must be Tables, got {got(tables)}")
        if tables is not None and tables.group != group:
            Stamp(tables.group, keys, stamp.regime).check(stamp)
        if tables is None and one_table(group):
            tables = Tables(group)
        self._tables = tables
        with ordinary_tensors():
            self._state = State.empty(stamp, layout, _storage(storage), positive_integer("batch", batch))
        self._latest: Queries | None = None

    @property
    def stamp(self) -> Stamp:
        """What the keys were made with."""
        return self._state.stamp

    @property
    def batch(self) -> int:
        """How many rows there are."""
        return self._state.batch

    @property
    def layout(self) -> Layout:
        """How entries lie in memory."""
        return self._state.layout

    @property
    def positions(self) -> Tensor:
        """Where each place's entry stands: [rows, places], int64, -1 for none; [axes, rows, places] for several."""
        return self._state.positions[0].clone() if len(self._state.positions) == 1 else self._state.positions.clone()

    @property
    def lengths(self) -> Tensor:
        """The position that follows each row's last entry: [rows], int64, [token]."""
        return self._state.ends.clone()

    @property
    def counts(self) -> Tensor:
        """How many entries each row holds: [rows], int64."""
        return self._state.held.sum(1)

    @property
    def turned_by(self) -> Tensor:
        """The length that each row's keys are turned by as they lie: [rows], int64; 0 for that of no token, [token]."""
        return self._state.lengths.clone()

    @property
    def bytes(self) -> int:
        """What keys and values occupy, free places and, in pages, the whole pool included."""
        return 0 if self._state.memory is None else self._state.memory.bytes

    def check(self, group: LayerGroup | Scheme, regime: Regime | None = None) -> None:
        """Raise `InputError`, with everything that differs, unless this cache was made for such layers and regime."""
        other = Stamp(checked_group(group), self.stamp.kept, checked_regime(regime) or self.stamp.regime)
        self.stamp.check(other)

    def append(self, k: Tensor, v: Tensor, positions: Tensor | None = None, *, gap: bool = False) -> None:
        """Add tokens to rows.

        Args:
            k: [batch, tokens, heads, dim], un-rotated, any floating type
            v: [batch, tokens, heads, value_dim]
            positions: [batch, tokens] or [tokens], int64, [token]; [axes, ...] for several axes; -1 where a row has no
                token (padding on either side), which is not kept. None to go on in each row where it ends, on all axes
                alike
            gap: whether positions may leave a gap, or fill one; several axes need no word for it

        Raises:
            InputError: a position that is taken, a gap that is not declared, a position past a frozen length, a row
                that must be computed again (`recompute_due`), shapes that do not fit, k or v that require a gradient,
                a pool without free pages; then nothing is written
        """
        with transaction(self._state):
            at, ranks = writing.append(self._state, k, v, positions, gap)
        self._latest = Queries(at, ranks)

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
    ) -> Tensor:
        """Attention of queries to all entries that they see, by `ordinate.ops.attend`.

        Queries that are turned by one length share a call: under `PerRow` a chunk that crosses a border makes a call
        for each length. The group's window, temperature, softmax scale and bias are inside.

        Un-rotated keys turn inside the call. They are turned in a copy before it where q and k turn by different
        tables (xPos), where a token has several positions, and where positions lie so far apart that a table of them
        would be larger than the keys.

        Args:
            q: [batch, query, heads, dim], un-rotated
            positions: where queries stand, as for `append`; None for the tokens that were appended last. A query at -1
                gives 0
            causal: whether keys after the query are hidden
            softcap, sink_logits, backend: as for `attend`
            slopes, by_distance, reach: as for `attend`, in place of the group's own bias
            learned: what the group's own bias has learned

        Returns:
            [batch, query, heads, value_dim], of the dtype of q

        Raises:
            InputError: a query past the end of its row or where a ring has overwritten what it sees, a row that must be
                computed again, shapes that do not fit
        """
        state = self._state
        queries = self._queries(q, positions)
        writing.check_regime(state, state.ends)
        reading.check_reach(state, queries, boolean("causal", causal))
        if state.memory is None:
            raise InputError("the cache must have entries to be attended to, got none")
        options = {
            "softcap": softcap,
            "sink_logits": sink_logits,
            "slopes": slopes,
            "by_distance": by_distance,
            "reach": reach,
            "backend": backend,
        }
        return reading.read(state, self._tables, q, queries, causal=causal, learned=learned, options=options)

    def keys(self, kept: Kept | None = None, dtype: torch.dtype = torch.float32) -> Tensor:
        """The keys at `positions`: [rows, places, heads, dim], 0 where no entry is.

        "rotated" keys are turned by `turned_by`, as they lie. Under `PerRow` each query has a length of its own, by
        which `attend` turns them; which of these they lie at depends on how the text was cut.

        Args:
            kept: "rotated" or "unrotated"; as they are kept where not given
            dtype: what to read them as
        """
        return reuse.kept_keys(self._state, kept, dtype)

    def values(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """The values at `positions`: [rows, places, heads, value_dim], 0 where no entry is."""
        reuse.check_dtype(dtype)
        memory = self._state.memory
        if memory is None:
            raise InputError("the cache must have entries to be read, got none")
        _, values = memory.gathered(None, dtype)
        return torch.where(self._state.held.to(values.device)[..., None, None], values, 0)

    def __repr__(self) -> str:
        stamp = self.stamp
        return (
            f"Cache({stamp.group.scheme}, rows={self.batch}, lengths={self.lengths.tolist()}, keys={stamp.kept!r}, "
            f"regime={stamp.regime}, layout={self.layout}, storage={self._state.storage.name!r})"
        )

    def _queries(self, q: Tensor, positions: Tensor | None) -> Queries:
        if not isinstance(q, Tensor) or q.ndim != 4 or q.shape[0] != self.batch:
            shape = [*q.shape] if isinstance(q, Tensor) else got(q)
            raise InputError(f"q must have shape [{self.batch}, query, heads, dim], got {shape}")
        if positions is not None:
            at = writing.standing(self._state, positions, (q.shape[0], q.shape[1]))
            self._state.check_reach(at)
            return Queries(at, reading.ranks_of(self._state, at))
        if self._latest is None or self._latest.ranks.shape[1] != q.shape[1]:
            latest = "none" if self._latest is None else self._latest.ranks.shape[1]
            raise InputError(
                f"q without positions must have a query for each token appended last, {latest}, got {q.shape[1]}"
            )
        return self._latest


def _storage(given: str | Storage) -> Storage:
    if isinstance(given, Storage):
        return given
    if not isinstance(given, str):
        raise InputError(f"storage must be a name or a Storage, got {got(given)}")
    return storage(given)
