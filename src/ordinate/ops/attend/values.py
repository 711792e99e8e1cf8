"""Checks of `attend` that read integers: lengths, borders, pages and positions. No float is read here."""

import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.errors import InputError

if TYPE_CHECKING:
    from ordinate.ops.attend.arguments import Call


def check_values(call: "Call") -> None:
    """Raise `InputError` unless every integer points at something that is there."""
    if not (is_traced(call.q) or getattr(call.q, "is_meta", False)):
        check_integers(call)


def check_integers(call: "Call") -> None:
    """`check_values` of a call whose numbers are known to be here."""
    if call.packed:
        _check_borders("cu_seqlens_q", call.cu_seqlens_q, call.queries)
        _check_borders("cu_seqlens_k", call.cu_seqlens_k, call.keys)
    if call.key_lengths is not None and call.key_lengths.shape[0]:
        _check_range("key_lengths", call.key_lengths, 0, call.keys)
        if call.paged:
            _check_pages(host(call.block_table), host(call.key_lengths), call.k.shape[0], call.k.shape[1])
    if call.cos is not None:
        _check_rows(call)


def is_traced(array: Any) -> bool:
    """Whether torch is compiling or exporting the call: a graph that is made has no numbers to read."""
    return not isinstance(array, np.ndarray) and sys.modules["torch"].compiler.is_compiling()


def host(array: Any) -> np.ndarray:
    """The same numbers in NumPy."""
    return array if isinstance(array, np.ndarray) else array.detach().cpu().numpy()


def _check_range(name: str, array: Any, low: int, high: int) -> None:
    lowest, highest = int(array.min()), int(array.max())
    if lowest < low or highest > high:
        raise InputError(f"{name} must lie in {low} to {high}, got {lowest if lowest < low else highest}")


def _check_borders(name: str, borders: Any, tokens: int) -> None:
    given = borders.tolist()
    if given[0] != 0 or given[-1] != tokens:
        raise InputError(f"{name} must go from 0 to the {tokens} tokens, got {given[0]} to {given[-1]}")
    for before, after in pairwise(given):
        if after < before:
            raise InputError(f"{name} must not fall, got {after} after {before}")


def _check_pages(table: np.ndarray, lengths: np.ndarray, pages: int, page_size: int) -> None:
    """Entries past a sequence's length are never read and may be anything."""
    used = np.arange(table.shape[1]) < -(-lengths[:, None] // page_size)
    wrong = table[used & ((table < 0) | (table >= pages))]
    if wrong.size:
        raise InputError(f"block_table must name pages 0 to {pages - 1}, got {wrong[0]}")


def _check_rows(call: "Call") -> None:
    """Every position that is rotated must have a row in the table."""
    rows = call.cos.shape[0]
    for name, positions in (("query", _first_and_last_query(call)), ("key", _first_and_last_key(call))):
        if positions is not None and (positions[0] < 0 or positions[1] >= rows):
            wrong = positions[0] if positions[0] < 0 else positions[1]
            raise InputError(f"{name} positions must lie in the table, 0 to {rows - 1}, got {wrong}")


def _first_and_last_query(call: "Call") -> tuple[int, int] | None:
    if 0 in call.q.shape:
        return None
    if call.query_positions is not None:
        return int(call.query_positions.min()), int(call.query_positions.max())
    if call.packed:
        queries, keys = (np.diff(host(borders)) for borders in (call.cu_seqlens_q, call.cu_seqlens_k))
        return int((keys - queries)[queries > 0].min()), int(keys[queries > 0].max()) - 1
    if call.key_lengths is not None:
        return int(call.key_lengths.min()) - call.queries, int(call.key_lengths.max()) - 1
    return call.keys - call.queries, call.keys - 1


def _first_and_last_key(call: "Call") -> tuple[int, int] | None:
    """Of keys that are there; a negative position means that none is."""
    if call.keys == 0 or call.q.shape[0] == 0:
        return None
    if call.key_positions is not None:
        positions = host(call.key_positions)
        if call.key_lengths is not None:
            there = np.arange(call.keys) < host(call.key_lengths)[:, None]
            positions = np.where(there, positions, -1)
        return 0, int(positions.max())
    if call.packed:
        return 0, int(np.diff(host(call.cu_seqlens_k)).max()) - 1
    return 0, (call.keys if call.key_lengths is None else int(call.key_lengths.max())) - 1
