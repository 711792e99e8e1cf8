"""Where records are to stand: the places of the evidence, and all other records around it in their order."""

from collections.abc import Callable, Sequence

import numpy as np

from ordinate.errors import InputError, got
from ordinate.validate.instances import Instance, Record
from ordinate.validate.streams import digest, stream

PLACES = ("start", "middle", "end", "spread", "reversed")
"""Where evidence may be asked to stand.

start, middle, end: all of it together, `gap` of the context apart; spread: a random place in each of as many equal
parts as there are evidence records; reversed: the layout of spread read from the end, for instances that are not
told in order.
"""

Places = str | Sequence[float]
SHIFT = 256  # tokens: how far a record may be moved so that the filler closes


def ordered(instance: Instance, places: Places) -> tuple[Record, ...]:
    """The records in the order in which they stand.

    Where the task tells no order, records stand by the sha256 of their names: evidence has no rank of its own, and a
    control that lacks some of the records keeps the order of the others. Places move filler, never records past one
    another, so that "the first record" and "the last" are no answers at any place.
    """
    if instance.ordered:
        if places == "reversed":
            raise InputError(f"the records of {instance.task!r} are told in order and cannot be reversed")
        return instance.records

    def rank(record: Record) -> bytes:
        return digest(instance.seed, instance.task, instance.index, "order", record.name)

    return tuple(sorted(instance.records, key=rank, reverse=places == "reversed"))


def fractions(instance: Instance, places: Places) -> tuple[float, ...]:
    """At what share of the context each evidence record is to begin, in the order in which they stand.

    0 is the context's beginning, 1 puts the record's last token at its end.

    Raises:
        InputError: an unknown place, shares that do not rise from 0 to 1, another number of them than one or one for
            each evidence record, or a gap that takes more than the whole context
    """
    count = len(instance.evidence)
    spaces = max(0, count - 1)
    if isinstance(places, str):
        if places not in PLACES:
            raise InputError(f"places must be one of {', '.join(PLACES)}, or shares of the context, got {got(places)}")
        if places in ("spread", "reversed"):
            drawn = stream(instance.seed, instance.task, instance.index, "spread").random(count)
            spread = tuple((number + float(share)) / count for number, share in enumerate(drawn))
            return spread if places == "spread" else tuple(1 - share for share in reversed(spread))
        centre = {"start": 0.0, "middle": 0.5, "end": 1.0}[places]
    else:
        shares = tuple(float(share) for share in places)
        if not all(0 <= share <= 1 for share in shares) or list(shares) != sorted(shares):
            raise InputError(f"places must be shares of the context that rise from 0 to 1, got {got(places)}")
        if len(shares) != 1:
            if len(shares) != count:
                raise InputError(f"places must be one share, or one for each of {count} evidence records, got {shares}")
            return shares
        centre = shares[0]
    width = instance.gap * spaces
    if width > 1:
        raise InputError(
            f"{count} evidence records cannot stand {instance.gap:g} of the context apart: gap is too wide"
        )
    first = min(max(centre - width / 2, 0.0), 1.0 - width)
    return tuple(first + number * instance.gap for number in range(count))


def gaps(
    records: Sequence[Record],
    counts: Sequence[int],
    shares: Sequence[float],
    filler: int,
    makes: Callable[[int], bool],
    generator: np.random.Generator,
) -> tuple[list[int], list[int | None]]:
    """How many tokens of filler stand before each record and after the last, and where evidence was asked to begin.

    Evidence begins exactly where it is asked to, or at the nearest place that the order of the records, and what
    sentences can make, leave it; decoys stand at random places in between, spread evenly.

    Args:
        records: in the order in which they stand
        counts: their tokens
        shares: of the context, for each evidence record
        filler: tokens of filler in all
        makes: whether sentences can make a number of tokens
        generator: for the decoys' places

    Returns:
        len(records) + 1 numbers of tokens that sum to `filler`; for each record its token in the context, None for
        decoys

    Raises:
        InputError: sentences cannot make what is left over
    """
    context = filler + sum(counts)
    asked: list[int | None] = []
    fixed: list[int | None] = []
    before = evidence = highest = 0
    for record, count in zip(records, counts, strict=True):
        if record.role == "evidence":
            wanted = round(shares[evidence] * (context - count))
            highest = min(max(wanted - before, highest), filler)
            asked.append(wanted)
            fixed.append(highest)
            evidence += 1
        else:
            asked.append(None)
            fixed.append(None)
        before += count
    return _closed(_filled(fixed, filler, generator), filler, makes), asked


def _filled(fixed: Sequence[int | None], filler: int, generator: np.random.Generator) -> list[int]:
    """Filler before each record in all; what stands between two fixed records is spread evenly, with chance."""
    places: list[int] = []
    draws = generator.random(len(fixed)).tolist()
    low = index = 0
    while index < len(fixed):
        end = next((i for i in range(index, len(fixed)) if fixed[i] is not None), len(fixed))
        high = filler if end == len(fixed) else fixed[end]
        assert high is not None  # noqa: S101  # `end` was chosen so
        run = end - index
        places += [low + int((high - low) * (k + draws[index + k]) / run) for k in range(run)]
        if end < len(fixed):
            places.append(high)
        low, index = high, end + 1
    return places


def _closed(places: Sequence[int], filler: int, makes: Callable[[int], bool]) -> list[int]:
    """Gaps near those wanted that sentences can make."""
    found: list[int] = []
    total = 0
    for place in places:
        room = filler - total
        gap = _nearest(min(max(place - total, 0), room), room, makes)
        found.append(gap)
        total += gap
    left = filler - total
    if makes(left):
        return [*found, left]
    # The last records are moved together, from as few of them as possible.
    for index in range(len(found) - 1, -1, -1):
        for shift in range(1, SHIFT):
            for step in (shift, -shift):
                gap = found[index] + step
                if gap >= 0 and left - step >= 0 and makes(gap) and makes(left - step):
                    return [*found[:index], gap, *found[index + 1 :], left - step]
    raise InputError(f"sentences of this filler cannot make exactly {filler} tokens: choose another length")


def _nearest(gap: int, room: int, makes: Callable[[int], bool]) -> int:
    for shift in range(room + 1):
        if gap - shift >= 0 and makes(gap - shift):
            return gap - shift
        if gap + shift <= room and makes(gap + shift):
            return gap + shift
    return 0
