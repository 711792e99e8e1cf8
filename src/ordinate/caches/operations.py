"""What is done to a cache between one call of attention and the next: entries go, come, move and are turned anew."""

from dataclasses import replace
from typing import Any, Self

import torch

from ordinate.caches import eviction, reuse, writing
from ordinate.caches.entries import Entries
from ordinate.caches.reading import Queries
from ordinate.caches.regimes import Regime
from ordinate.caches.state import State
from ordinate.caches.tables import Tables, one_table
from ordinate.caches.transaction import ordinary_tensors, transaction
from ordinate.errors import MAXIMUM_POSITION, InputError, got, non_negative_integer
from ordinate.schemes.base import Rotary, Scheme
from ordinate.spec import LayerGroup, Spec


class Operations:
    """The operations of a `Cache`: each equals rotating the same un-rotated keys at the new positions."""

    _state: State
    _tables: Tables | None
    _latest: Queries | None

    def entries(
        self, rows: Any = None, start: int = 0, stop: int | None = None, dtype: torch.dtype = torch.float32
    ) -> Entries:
        """A copy of what rows hold, in the order of positions, for `splice`.

        Args:
            rows: row numbers; None for all
            start, stop: entries from this position to before that one (with several axes: by count), [token]
            dtype: what to read keys and values as
        """
        return reuse.entries(self._state, rows, start, stop, dtype)

    def recompute_due(self, tokens: int = 0) -> list[int]:
        """The rows that must be cleared and computed again from their ids before they may grow by so many tokens.

        Empty under every regime but `Recompute`.
        """
        tokens = min(non_negative_integer("tokens", tokens), MAXIMUM_POSITION)
        return writing.recompute_due(self._state, self._state.ends + tokens)

    def clear(self, rows: Any = None) -> None:
        """Let everything in these rows go, all rows where not given; pages go back to their pool."""
        state = self._state
        which = range(state.batch) if rows is None else reuse.checked_rows(state, rows).tolist()
        with ordinary_tensors():
            ranks = state.next_ranks.clone()
            ranks[list(which)] = 0
            eviction.crop(state, ranks)
            state.ends[list(which)] = 0
        self._latest = None

    def crop(self, lengths: Any) -> None:
        """Keep the positions below a length.

        Args:
            lengths: one for all rows, or one for each, at most where the row ends, [token]; with several axes how many
                entries are kept

        Raises:
            InputError: a row is shorter
        """
        with transaction(self._state):
            eviction.crop(self._state, lengths)
        self._latest = None

    def rewind(self, tokens: Any) -> None:
        """Let the last positions of each row go: rejected drafts.

        Args:
            tokens: how many, one number for all rows or one for each, [token]

        Raises:
            InputError: a row is shorter
        """
        with transaction(self._state):
            eviction.rewind(self._state, tokens)
        self._latest = None

    def shift(self, drop: Any, keep_first: int = 0) -> None:
        """Drop the oldest entries and move all behind them to their place.

        Positions keep_first to keep_first + drop - 1 go, what lies behind moves down by `drop`. With several axes
        `drop` and `keep_first` count entries, and what lies behind moves until its lowest position is where the lowest
        of what went was, or just past the highest that stays where that is further.

        Args:
            drop: how many positions, one number for all rows or one for each, [token]
            keep_first: positions below it stay (attention sinks), [token]

        Raises:
            InputError: a row is shorter
        """
        with transaction(self._state):
            eviction.shift(self._state, drop, keep_first, True)
        self._latest = None

    def evict(self, sinks: int, window: int, positions: str = "kept") -> None:
        """Keep the first `sinks` and the last `window` positions of each row.

        Args:
            sinks: positions below it stay, [token]
            window: how many of the last positions stay, [token]
            positions: "kept": all stay where they are. "renumbered": the window moves down to follow the sinks
                (StreamingLLM), as `shift` does
        """
        with transaction(self._state):
            eviction.evict(self._state, sinks, window, positions)
        self._latest = None

    def splice(self, entries: Entries, at: Any = None, *, gap: bool = False) -> None:
        """Put entries of another cache, or of this one, at another position: a prefix or a chunk that is used again.

        Args:
            entries: of a cache of the same group and regime, kept rotated or not; one row for all, or a row for each
            at: where the first of them stands, one number for all rows or one for each; None for where each row ends,
                [token]. All others keep their distance to it
            gap: as for `append`

        Raises:
            InputError: entries made with something else, a position that is taken, a gap that is not declared, shapes
                that do not fit
        """
        with transaction(self._state):
            reuse.splice(self._state, entries, at, gap)
        self._latest = None

    def rebase(self, group: LayerGroup | Scheme | None = None, regime: Regime | None = None) -> None:
        """Turn all keys by another base, factor, method or length; each row crosses by itself.

        Refused is what would make another model of the keys: another kind of scheme (rotary schemes may follow each
        other; ALiBi, T5 and the other biases, additive schemes and NoPE take themselves alone), another pairing,
        another number of positions a token, and, in a ring, another sliding window than the ring's, which has let go
        what its own hides. In other layouts any window may follow any other: all entries are there, and it says what
        a query sees.

        Args:
            group: the layers from now on; as they were where not given
            regime: as for `Cache`; as it was where not given

        Raises:
            InputError: another kind of scheme, pairing, or number of positions a token; in a ring, another window; a
                frozen length that a row has passed
        """
        with transaction(self._state):
            reuse.rebase(self._state, None if group is None else checked_group(group), checked_regime(regime))
        if self._tables is None or self._tables.group != self._state.stamp.group:
            self._tables = Tables(self._state.stamp.group) if one_table(self._state.stamp.group) else None

    def reorder(self, rows: Any) -> None:
        """Make these rows the batch, in this order: beams that go on, sequences that end or begin.

        Args:
            rows: row numbers, any of them more than once; -1 for a row without entries
        """
        with ordinary_tensors():
            reuse.reorder(self._state, rows)
        self._latest = None

    def fork(self) -> Self:
        """Another cache with the same entries, of which an operation on either leaves the other as it is.

        Shared between the two: the group, regime, storage and tables, which nothing changes, and in a `Paged` layout
        the pool. Both take pages from it, so that either may find it full, and a page with entries is shared until one
        of the two writes it, which then takes a page of its own. (A fork of a cache that never had entries makes a pool
        of its own.) A fork that is no longer referred to, or is cleared,
        gives its pages back. In `Dense` and `Ring` layouts keys and values are copied, as positions, ends and lengths
        are in all.
        """
        made = object.__new__(type(self))
        with ordinary_tensors():
            made._tables, made._state, made._latest = self._tables, reuse.fork(self._state), self._latest
        return made


def checked_group(group: LayerGroup | Scheme) -> LayerGroup:
    """A group that says how its channels pair: as its scheme does where it leaves that open."""
    if isinstance(group, Scheme):
        group = LayerGroup("full_attention", encoding=group)
    if isinstance(group, Spec):
        raise InputError(f"group must be one group of {group.name}, {', '.join(group.groups)}, got all of its spec")
    if not isinstance(group, LayerGroup):
        raise InputError(f"group must be a LayerGroup or a scheme, got {got(group)}")
    if group.pairing is None and isinstance(group.encoding, Rotary):
        return replace(group, pairing=group.encoding.pairing)
    return group


def checked_regime(regime: Regime | None) -> Regime | None:
    if regime is not None and not isinstance(regime, Regime):
        raise InputError(
            "regime must be PerRow(), Frozen(length) or Recompute() of ordinate.caches (text is turned into one by "
            f"ordinate.caches.regime), got {got(regime)}"
        )
    return regime
