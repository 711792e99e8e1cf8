"""Operations in any order lose nothing: the cache against a list of keys and positions in plain Python."""

import numpy as np
import pytest
import torch
from reference_caches import LAYOUTS, METHODS, PAIRINGS, SCHEMES, Model, axes, check, group, regimes, tokens

from ordinate.caches import Cache
from ordinate.errors import InputError

HEADS, LENGTH = 2, 50


class Walk:
    """One random sequence of operations on a cache and its model."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        pick = self.random.choice
        self.group = group(str(pick(list(SCHEMES))), str(pick(list(METHODS))), str(pick(PAIRINGS)))
        self.layout = LAYOUTS[str(pick(list(LAYOUTS)))]
        self.regime = regimes()[self.random.integers(2)]
        self.batch = int(self.random.integers(1, 4))
        kept = str(pick(["rotated", "unrotated"]))
        self.cache = self.made(kept)
        self.model = Model(self.group, self.batch, self.regime, self.layout)
        self.forks = []

    def made(self, kept):
        return Cache(self.group, self.batch, keys=kept, regime=self.regime, layout=self.layout)

    def number(self, low, high):
        return int(self.random.integers(low, high + 1))

    def placed(self, count, gap):
        """Positions of new tokens, [axes, batch, count]: some rows have fewer, padded on either side; and by row."""
        at = np.full((axes(self.group), self.cache.batch, count), -1)
        by_row = []
        for row in range(self.cache.batch):
            own = self.number(0, count)
            start = self.model.ends[row] + (self.number(0, 3) if gap else 0)
            here = np.tile(np.arange(start, start + own), (len(at), 1))
            if len(at) > 1:  # a patch of an image: coordinates that differ from axis to axis, apart from one another
                here[1:] += self.random.integers(0, 3, here[1:].shape)
            first = self.number(0, count - own)
            at[:, row, first : first + own] = here
            by_row.append((first, [tuple(p) for p in here.T.tolist()]))
        return at, by_row

    def append(self):
        count, gap = self.number(1, 6), self.number(0, 4) == 0
        at, by_row = self.placed(count, gap)
        k, v = tokens(self.random, (self.cache.batch, count), self.group, HEADS)
        positions = torch.from_numpy(at if len(at) > 1 else at[0])
        self.cache.append(k, v, positions, gap=gap)
        for row, (first, own) in enumerate(by_row):
            part = slice(first, first + len(own))
            self.model.append(row, k[row, part].double().numpy(), v[row, part].double().numpy(), own)
        if self.number(0, 3) == 0:
            self.attended(count, by_row)

    def attended(self, count, by_row):
        q = torch.from_numpy(self.random.standard_normal((self.cache.batch, count, 2 * HEADS, self.width))).float()
        # The model has as many heads of keys as of queries.
        ranks_by_row = []
        for row, (_, own) in enumerate(by_row):
            last = self.model.next_rank(row)
            ranks_by_row.append([p[0] for p in own] if axes(self.group) == 1 else range(last - len(own), last))
        if any(self.model.misses(row, ranks) for row, ranks in enumerate(ranks_by_row)):
            with pytest.raises(InputError, match="has overwritten"):
                self.cache.attend(q)
            return
        try:
            out, seen = self.cache.attend(q).double().numpy(), q.double().numpy()
        except InputError as error:
            # It knows the first and the last that is lost: where others stood between, it refuses too much.
            assert "has overwritten" in str(error)  # noqa: PT017
            assert self.model.ring
            return
        for row, (first, own) in enumerate(by_row):
            part, ranks = slice(first, first + len(own)), ranks_by_row[row]
            for half in range(2):
                heads = slice(half, None, 2)  # query heads 0 and 1 read key head 0, 2 and 3 read 1
                wanted = self.model.attend(row, seen[row, part, heads], own, ranks)
                if own:
                    np.testing.assert_allclose(out[row, part, heads], wanted, rtol=1e-4, atol=2e-5)
            assert (np.delete(out[row], np.arange(count)[part], 0) == 0).all()

    @property
    def width(self):
        return self.group.encoding.head_dim

    def crop(self):
        lengths = [self.number(0, self.model.next_rank(row)) for row in range(self.cache.batch)]
        if self.number(0, 1):
            lengths = [max(self.model.next_rank(row) - self.number(0, 4), 0) for row in range(self.cache.batch)]
        self.cache.crop(lengths)
        for row, length in enumerate(lengths):
            self.model.crop(row, length)

    def rewind(self):
        counts = [self.number(0, min(self.model.next_rank(row), 4)) for row in range(self.cache.batch)]
        self.cache.rewind(counts)
        for row, count in enumerate(counts):
            self.model.crop(row, self.model.next_rank(row) - count)

    def shift(self):
        first = self.number(0, 2)
        drops = [self.number(0, max(min(self.model.next_rank(row) - first, 5), 0)) for row in range(self.cache.batch)]
        self.cache.shift(drops, first)
        for row, drop in enumerate(drops):
            if drop:
                self.model.shift(row, drop, first)

    def evict(self):
        sinks, window, renumber = self.number(0, 3), self.number(1, 12), bool(self.number(0, 1))
        self.cache.evict(sinks, window, "renumbered" if renumber else "kept")
        for row in range(self.cache.batch):
            self.model.evict(row, sinks, window, renumber)

    def splice(self):
        """Some tokens of another cache, kept either way, behind each row or after a gap."""
        other = Cache(self.group, 1, keys=str(self.random.choice(["rotated", "unrotated"])), regime=self.regime)
        count, start = self.number(1, 5), self.number(0, 14)
        k, v = tokens(self.random, (1, start + count), self.group, HEADS)
        other.append(k, v)
        gap = self.number(0, 2)
        at = [end + gap for end in self.model.ends]
        self.cache.splice(other.entries(start=start), at if gap else None, gap=bool(gap))
        for row, first in enumerate(at):
            own = [(p,) * axes(self.group) for p in range(first, first + count)]
            self.model.append(row, k[0, start:].double().numpy(), v[0, start:].double().numpy(), own)

    def rebase(self):
        name = str(self.random.choice(list(METHODS)))
        scheme = next(name for name, known in SCHEMES.items() if type(known) is type(self.group.encoding))
        scheme = next((n for n, known in SCHEMES.items() if known == self.group.encoding), scheme)
        self.group = group(scheme, name, self.group.pairing)
        self.regime = regimes()[self.random.integers(2)]
        self.cache.rebase(self.group, self.regime)
        self.model.group, self.model.regime = self.group, self.regime
        self.forks.clear()

    def reorder(self):
        rows = [self.number(0, self.cache.batch - 1) for _ in range(self.number(1, 3))]
        if self.number(0, 3) == 0:
            rows[0] = -1
        self.cache.reorder(rows)
        self.model.reorder(rows)
        self.batch = len(rows)

    def fork(self):
        """Go on with the one or the other; what is left behind must stay as it is."""
        other = self.cache.fork(), self.model.fork()
        if self.number(0, 1):
            (self.cache, self.model), other = other, (self.cache, self.model)
        self.forks.append(other)
        if len(self.forks) > 2:
            self.forks.pop(0)[0].clear()

    def step(self):
        # Appends often enough that rows cross the borders of length-dependent methods again and again.
        names = ["append"] * 6 + ["crop", "rewind", "shift", "evict", "splice", "rebase", "reorder", "fork"]
        getattr(self, str(self.random.choice(names)))()


def walk(seed):
    found = Walk(seed)
    for _ in range(LENGTH):
        found.step()
        check(found.cache, found.model)
    for cache, model in found.forks:
        check(cache, model)


@pytest.mark.parametrize("seed", range(50))
def test_a_random_sequence_of_operations_loses_nothing(seed):
    walk(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50, 1050))
def test_a_thousand_random_sequences_lose_nothing(seed):
    walk(seed)
