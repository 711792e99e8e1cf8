"""What makes memory suffice: lighter caches, lighter weights, more devices, fewer sequences; one of them, or two."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

from ordinate.errors import InputError
from ordinate.plan.cost import check_ranks
from ordinate.plan.fitting import largest
from ordinate.plan.formats import formats, pair_of
from ordinate.plan.planner import FLOATS, Planner
from ordinate.plan.result import MemoryWay
from ordinate.plan.weights import Parts

OFFERED = ("fp8", "int8", "int4")
"""Formats looked at beside the one asked for."""

LIGHTER = {"8": 1.0, "4": 0.5}
"""Bits of a weight, and its bytes: those of scales are not counted."""

MOST_RANKS = 64
"""More devices of one kind are not looked at."""

SHOWN = 3
"""So many pairs of changes are listed at most."""


@dataclass(frozen=True)
class Change:
    """A model that is to run otherwise.

    Args:
        changes: in what, as `MemoryWay` has it
        said: in words
        planner: of the model as it then runs
    """

    changes: str
    said: str
    planner: Planner

    def way(self, target: int, batch: int) -> MemoryWay:
        """What a target takes so."""
        planner = self.planner
        cell = planner.cell(target, batch)
        kv = "/".join(dict.fromkeys(found.name for found in planner.formats))
        taken = (cell.cache_bytes, cell.weights_bytes, cell.total_bytes)
        return MemoryWay(self.changes, self.said, kv, batch, planner.request.ranks.count, *taken, cell.fits)

    def fewer(self, target: int, batch: int) -> MemoryWay | None:
        """The same with as many sequences as fit, or None where not one does."""
        number, _ = largest(lambda number: bool(self.planner.cell(target, number).fits), batch)
        return (
            None
            if number is None
            else _also(self, Change("batch", f"batch {number}", self.planner)).way(target, number)
        )

    def and_then(self, changed: "Changes") -> "Iterator[Change]":
        """This change with each of another kind."""
        return (_also(self, second) for second in changed(self.planner))


Changes = Callable[[Planner], Iterator[Change]]


def as_asked(planner: Planner) -> Change:
    """No change."""
    return Change("nothing", "as asked", planner)


def caches(planner: Planner) -> Iterator[Change]:
    """Other formats of keys and values."""
    same = {found.name for found in planner.formats}
    for name in OFFERED:
        if name in formats() and same != {name}:
            yield Change("kv", f"cache in {name}", replace(planner, formats=pair_of(name)))


def weights(planner: Planner) -> Iterator[Change]:
    """Weights that are floats now, in fewer bits."""
    now = planner.weights
    if now is None or now.dtype not in FLOATS:
        return
    for bits, size in LIGHTER.items():
        share = size / FLOATS[now.dtype]
        parts = tuple(replace(part, bytes=part.bytes * share) for part in now.parts)
        yield Change("weights", f"weights in {bits} bits", replace(planner, weights=Parts(parts, None, now.source)))


def devices(kind: str, planner: Planner) -> Iterator[Change]:
    """More ranks of a kind, doubled from those asked for."""
    ranks = planner.request.ranks
    count = 2 * getattr(ranks, kind)
    while count <= MOST_RANKS:
        more = replace(ranks, **{kind: count})
        try:
            check_ranks(more, planner.layers)
        except InputError:  # this many do not divide it; twice as many do not either
            return
        yield Change(
            "devices", f"{count} {kind}-parallel ranks", replace(planner, request=replace(planner.request, ranks=more))
        )
        count *= 2


RANKS: Mapping[str, Changes] = {kind: partial(devices, kind) for kind in ("tensor", "context")}
KINDS: Mapping[str, Changes] = {"kv": caches, "weights": weights, **RANKS}


def pairs(planner: Planner, target: int, batch: int) -> list[MemoryWay]:
    """The cheapest ways in which two changes of different kinds make a target fit.

    Of each two kinds the one with the fewest devices, then with the most sequences, then with the least change, which
    is the one named first; of all these the first `SHOWN` in the same order.

    Args:
        planner: of the model as asked
        target: the length to reach, [token]
        batch: sequences that were asked for
    """
    found = []
    for first, second in combinations(KINDS.values(), 2):
        both = (change.and_then(second) for change in first(planner))
        # More ranks than fit cost more: of each first change the first second one that fits.
        found.append(_cheapest(filter(None, (_first(two, target, batch) for two in both))))
    if batch > 1:
        for kind in KINDS.values():
            found.append(_cheapest(filter(None, (change.fewer(target, batch) for change in kind(planner)))))
    return sorted((way for way in found if way is not None), key=_cost)[:SHOWN]


def _first(changes: Iterator[Change], target: int, batch: int) -> MemoryWay | None:
    return next((way for way in (change.way(target, batch) for change in changes) if way.fits), None)


def _cheapest(ways: Iterator[MemoryWay]) -> MemoryWay | None:
    return min(ways, key=_cost, default=None)


def _cost(way: MemoryWay) -> tuple[int, int]:
    return way.devices, -way.batch


def _also(first: Change, second: Change) -> Change:
    if first.changes == "nothing":
        return second
    both = dict.fromkeys((first.changes, second.changes))
    return Change(" and ".join(both), f"{first.said}, {second.said}", second.planner)
