"""Sums of sentence lengths: which numbers of tokens sentences can make, and which sentences make one."""

from collections.abc import Callable, Sequence

from ordinate.errors import InputError
from ordinate.validate.builder.pieces import Piece

MOST = 3  # sentences that close a gap; short clauses may be more

Fresh = Callable[[Piece], bool]
Chance = Callable[[int], int]


class Pool:
    """Sentences by their number of tokens, and which numbers up to three of them can make.

    Args:
        pieces: a filler's sentences
        clauses: short sentences, used where the filler's own cannot make a number; they may stand more than once
    """

    def __init__(self, pieces: Sequence[Piece], clauses: Sequence[Piece]) -> None:
        if not pieces:
            raise InputError("a filler must have sentences that hold no special token, got none")
        self.pieces = tuple(pieces)
        longest = max(piece.count for piece in pieces)
        self._own = _by_length(pieces)
        self._both = _by_length([*pieces, *clauses])
        self._clauses = _by_length(clauses)
        self._repeated = frozenset(clauses)
        limit = 3 * longest
        self._last = _last_steps(self._clauses, limit)
        by_clauses = {number for number in range(limit + 1) if self._last[number]}
        own, both = _sums(self._own), _sums(self._both)
        self._made = both[-1] | by_clauses
        ways = [*own, *both, self._made]
        starts = (_window(made, longest, limit) for made in ways)
        self.free = next((start for start in starts if start is not None), None)
        """From here on every number of tokens can be made, up to the longest sentence's above it."""

    def makes(self, tokens: int) -> bool:
        """Whether sentences can make this number exactly."""
        return tokens == 0 or tokens in self._made or (self.free is not None and tokens >= self.free)

    def draw(self, tokens: int, fresh: Fresh, chance: Chance, *, once: bool) -> list[Piece] | None:
        """Sentences that make `tokens`: as few as possible, clauses only where nothing else does.

        Args:
            tokens: to be made
            fresh: whether a sentence may be taken
            chance: a random number below another
            once: a sentence may stand once only

        Returns:
            None where there are none.
        """
        for groups in (self._own, self._both):
            for count in range(1, MOST + 1):
                found = self._search(groups, tokens, count, (), fresh, chance, once)
                if found is not None:
                    return found
        return self._by_clauses(tokens, chance)

    def _search(
        self,
        groups: dict[int, list[Piece]],
        tokens: int,
        count: int,
        taken: tuple[Piece, ...],
        fresh: Fresh,
        chance: Chance,
        once: bool,
    ) -> list[Piece] | None:
        if count == 1:
            piece = self._pick(groups.get(tokens, ()), taken, fresh, chance, once)
            return None if piece is None else [piece]
        lengths = list(groups)
        begin = chance(len(lengths))
        for length in lengths[begin:] + lengths[:begin]:
            left = tokens - length
            if left <= 0 or (count == 2 and left not in groups):
                continue
            piece = self._pick(groups[length], taken, fresh, chance, once)
            if piece is None:
                continue
            found = self._search(groups, left, count - 1, (*taken, piece), fresh, chance, once)
            if found is not None:
                return [piece, *found]
        return None

    def _pick(
        self, group: Sequence[Piece], taken: tuple[Piece, ...], fresh: Fresh, chance: Chance, once: bool
    ) -> Piece | None:
        if not group:
            return None
        begin = chance(len(group))
        for place in range(begin, begin + len(group)):
            piece = group[place % len(group)]
            if piece in self._repeated or (fresh(piece) and not (once and piece in taken)):
                return piece
        return None

    def _by_clauses(self, tokens: int, chance: Chance) -> list[Piece] | None:
        if tokens >= len(self._last):
            return None
        found: list[Piece] = []
        while tokens:
            lengths = self._last[tokens]
            if not lengths:
                return None
            group = self._clauses[lengths[chance(len(lengths))]]
            others = [piece for piece in group if piece not in found[-1:]] or group
            found.append(others[chance(len(others))])
            tokens -= found[-1].count
        return found


def _by_length(pieces: Sequence[Piece]) -> dict[int, list[Piece]]:
    groups: dict[int, list[Piece]] = {}
    for piece in sorted(pieces, key=lambda piece: piece.count):
        groups.setdefault(piece.count, []).append(piece)
    return groups


def _sums(groups: dict[int, list[Piece]]) -> list[set[int]]:
    """The numbers of tokens that one, at most two, and at most three sentences make."""
    sums = [set(groups)]
    for _ in range(MOST - 1):
        sums.append(sums[-1] | {total + length for total in sums[-1] for length in groups})
    return sums


def _last_steps(groups: dict[int, list[Piece]], limit: int) -> list[list[int]]:
    """For each number up to `limit` the lengths that can stand last where the fewest sentences make it."""
    fewest, last = [0], [list[int]()]
    for number in range(1, limit + 1):
        steps = {length: fewest[number - length] + 1 for length in groups if length <= number}
        least = min((count for count in steps.values()), default=limit + 1)
        fewest.append(min(least, limit + 1))
        last.append([length for length, count in steps.items() if count == least and least <= limit])
    return last


def _window(made: set[int], width: int, limit: int) -> int | None:
    """The first number from which on `width` numbers in a row are made."""
    run = 0
    for number in range(1, limit + 1):
        run = run + 1 if number in made else 0
        if run > width:
            return number - width
    return None
