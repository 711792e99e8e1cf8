"""A cache as a list of un-rotated keys with their positions, in plain Python and float64, and groups to try it with."""

import copy
from dataclasses import dataclass, replace

import numpy as np
import torch
from reference_rotate import PAIRINGS, expected

import ordinate
from ordinate.caches import Dense, Frozen, Paged, PerRow, Ring
from ordinate.registry import lookup
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.longrope import LongRope
from ordinate.schemes.axial import Axial
from ordinate.schemes.base import Rotary
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope
from ordinate.schemes.xpos import Xpos
from ordinate.spec import LayerGroup

WINDOW = 12
"""Where length-dependent methods begin to turn otherwise: rows of a test are shorter and longer, [token]."""

SCHEMES = {
    "rope": Rope(head_dim=16),
    "rope first": Rope(head_dim=20, rotary_dim=16, base=500.0),
    "rope last": Rope(head_dim=19, rotary_dim=16, part="last", direction=-1),
    "rope proportional": Rope(head_dim=16, rotary_dim=8, part="proportional"),
    "axial": Axial(head_dim=32),
    "multimodal": Multimodal(head_dim=16, sections=(2, 3, 3)),
    "xpos": Xpos(head_dim=16, centre=8, scale_base=64.0),
}
LAYOUTS = {"dense": Dense(capacity=2), "paged": Paged(pages=400, page_size=3), "ring": Ring(window=9, keep_first=2)}


def method(name):
    """A scaling method's example, whose window is short; None for "none"."""
    if name == "none":
        return None
    found = lookup("ordinate.scaling", name, "scaling").example()
    if isinstance(found, DynamicNtk):
        return replace(found, window=WINDOW)
    return replace(found, original_max_position_embeddings=WINDOW) if isinstance(found, LongRope) else found


METHODS = {name: method(name) for name in ("none", *ordinate.scalings())}


def group(scheme, scaling="none", pairing="half", **others):
    """A group of layers; a scheme of several spectra has fewer frequencies than pairs."""
    return LayerGroup("full_attention", SCHEMES[scheme], METHODS[scaling], pairing=pairing, **others)


def groups():
    """Every rotary scheme with every scaling method and pairing, by name."""
    return {
        f"{scheme}, {scaling}, {pairing}": group(scheme, scaling, pairing)
        for scheme in SCHEMES
        for scaling in METHODS
        for pairing in PAIRINGS
    }


def axes(of):
    return getattr(of.encoding, "axes", 1) if isinstance(of.encoding, Rotary) else 1


def rotated(x, of, positions, length, role="key"):
    """Keys or queries [n, heads, dim] at [n] tuples of positions, turned by complex numbers in float64."""
    rope, at = of.rope, np.array(positions, dtype=np.int64).reshape(len(x), -1).T
    at = at if axes(of) > 1 else at[0]
    angles, size = rope.angles(at, of.frequencies(length)), of.attention_factor(length)
    apart = rope.magnitudes(at)
    if apart is not None:
        size = size * apart[0 if role == "query" else 1]
    part = rope.part if isinstance(rope, Rope) else "first"
    out, _ = expected(x, np.cos(angles) * size, np.sin(angles) * size, None, of.pairing, part, False)
    return out


@dataclass
class Entry:
    """One token of a row."""

    position: tuple[int, ...]
    rank: int
    key: np.ndarray
    value: np.ndarray


class Model:
    """What `ordinate.caches.Cache` must be, operation for operation."""

    def __init__(self, of, batch, regime, layout=None):
        self.group, self.regime = of, regime
        ring = isinstance(layout, Ring)
        self.window, self.sinks = (layout.window, layout.keep_first) if ring else (of.sliding_window, 0)
        self.ring = ring
        self.rows = [[] for _ in range(batch)]
        self.ends = [0] * batch
        self.nexts = [0] * batch  # the next rank, with several axes
        self.lost = [set() for _ in range(batch)]  # the ranks that a ring has overwritten

    def next_rank(self, row):
        if axes(self.group) == 1:
            return self.ends[row]
        return self.nexts[row]

    def append(self, row, keys, values, positions):
        """Entries of one row; positions are tuples."""
        if not positions:
            return
        one, start = axes(self.group) == 1, self.next_rank(row)
        ranks = [p[0] for p in positions] if one else range(start, start + len(positions))
        if self.ring:
            oldest = min(ranks) - self.window + 1
            gone = [e.rank for e in self.rows[row] if self.sinks <= e.rank < oldest]
            self.lost[row].update(gone)
            self.rows[row] = [e for e in self.rows[row] if e.rank not in gone]
        for key, value, position, rank in zip(keys, values, positions, ranks, strict=True):
            self.rows[row].append(Entry(tuple(position), rank, key, value))
        self.ends[row] = max(self.ends[row], max(max(p) for p in positions) + 1)
        self.nexts[row] = start + len(positions)

    def crop(self, row, rank):
        if rank >= self.next_rank(row):
            return
        self.rows[row] = [e for e in self.rows[row] if e.rank < rank]
        self.nexts[row] = rank
        found = [max(e.position) + 1 for e in self.rows[row]]
        self.ends[row] = rank if axes(self.group) == 1 else max(found, default=0)
        self.lost[row] = {r for r in self.lost[row] if r < min(rank, self.next_rank(row))}

    def shift(self, row, drop, first, renumber=True):
        gone = [e for e in self.rows[row] if first <= e.rank < first + drop]
        behind = [e for e in self.rows[row] if e.rank >= first + drop]
        self.rows[row] = [e for e in self.rows[row] if e.rank < first] + behind
        if not renumber:
            return
        distance = drop
        if axes(self.group) > 1:
            lowest = min((min(e.position) for e in behind), default=self.ends[row])
            # It goes where what goes began, but past all that stays.
            past = max((max(e.position) + 1 for e in self.rows[row] if e.rank < first), default=0)
            start = max(past, min((min(e.position) for e in gone), default=0))
            distance = max(min(lowest, self.ends[row]) - start, 0) if gone else 0
        for entry in behind:
            entry.position = tuple(p - distance for p in entry.position)
            entry.rank -= drop
        here = self.lost[row]
        self.lost[row] = {r for r in here if r < first} | {r - drop for r in here if r >= first + drop}
        self.ends[row] -= distance
        self.nexts[row] -= drop

    def evict(self, row, sinks, window, renumber):
        self.shift(row, max(self.next_rank(row) - window - sinks, 0), sinks, renumber)

    def reorder(self, rows):
        self.ends = [self.ends[row] if row >= 0 else 0 for row in rows]
        self.nexts = [self.nexts[row] if row >= 0 else 0 for row in rows]
        self.rows = [copy.deepcopy(self.rows[row]) if row >= 0 else [] for row in rows]
        self.lost = [set(self.lost[row]) if row >= 0 else set() for row in rows]

    def misses(self, row, ranks):
        """Whether one of these queries sees what a ring has overwritten."""
        return any(rank - self.window < gone <= rank or gone < self.sinks for rank in ranks for gone in self.lost[row])

    def fork(self):
        return copy.deepcopy(self)

    def sorted(self, row):
        return sorted(self.rows[row], key=lambda entry: entry.rank)

    def keys(self, row, length="unrotated"):
        """As they came, or turned by a length."""
        entries = self.sorted(row)
        keys = np.array([entry.key for entry in entries])
        if length == "unrotated":
            return keys
        return rotated(keys, self.group, [entry.position for entry in entries], length)

    def attend(self, row, q, positions, ranks):
        """Attention of queries [n, heads, dim] of one row, one by one, all logits in float64."""
        entries, out = self.sorted(row), []
        for query, position, rank in zip(q, positions, ranks, strict=True):
            seen = [e for e in entries if e.rank <= rank]
            if self.window is not None:
                seen = [e for e in seen if e.rank > rank - self.window or e.rank < self.sinks]
            length = self.regime.length(max(position), self.ends[row])
            keys, values = np.array([e.key for e in seen]), np.array([e.value for e in seen])
            if self.group.rotary_dim is not None:
                keys = rotated(keys, self.group, [e.position for e in seen], length)
                query = rotated(query[None], self.group, [position], length, "query")[0]
            logits = np.einsum("hd,khd->hk", query, keys) / np.sqrt(query.shape[-1])
            weights = np.exp(logits - logits.max(-1, keepdims=True))
            weights /= weights.sum(-1, keepdims=True)
            out.append(np.einsum("hk,khv->hv", weights, values))
        return np.array(out)


def check(cache, model, kept=None, tolerance=1e-5):
    """Nothing lost, nothing else there, all where it should be and turned as it should be."""
    assert cache.lengths.tolist() == model.ends
    assert cache.counts.tolist() == [len(row) for row in model.rows]
    if not any(model.rows):
        return
    entries = cache.entries()
    keys = entries.keys.double().numpy()
    for row in range(cache.batch):
        wanted = model.sorted(row)
        there = len(wanted)
        positions = entries.positions[..., row, :].reshape(axes(model.group), -1).T.tolist()
        assert [tuple(p) for p in positions[:there]] == [e.position for e in wanted]
        assert all(p == [-1] * axes(model.group) for p in positions[there:])
        if not there:
            continue
        values = np.array([e.value for e in wanted])
        np.testing.assert_array_equal(entries.values[row, :there].numpy(), values.astype(np.float32))
        if cache.stamp.kept == "unrotated":
            close(keys[row, :there], model.keys(row), tolerance / 10)  # what was rotated may be spliced in
        else:
            close(keys[row, :there], model.keys(row, int(cache.turned_by[row]) or None), tolerance)


def close(got, wanted, tolerance):
    """As a share of each head's length."""
    error = np.linalg.norm(got - wanted.astype(np.float32), axis=-1)
    assert (error <= tolerance * np.linalg.norm(wanted, axis=-1)).all(), error.max()


def tokens(random, shape, of, heads=2):
    """k and v of new tokens, in float32."""
    k = torch.from_numpy(random.standard_normal((*shape, heads, of.encoding.head_dim)).astype(np.float32))
    v = torch.from_numpy(random.standard_normal((*shape, heads, 3)).astype(np.float32))
    return k, v


def regimes():
    return [PerRow(), Frozen(10_000)]
