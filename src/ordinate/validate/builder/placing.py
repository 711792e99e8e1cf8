"""Where records go: a layout that does not know which of them are evidence.

Places that have a name lay out all records of an instance together. With m records in their order, filler of F tokens
and record i behind f_i of these:

    spread       f_i = F (i + u_i) / m, with u_i drawn once for all lengths
    start        f_i = G_i
    middle       f_i = (F - G_(m-1)) / 2 + G_i
    end          f_i = F - G_(m-1) + G_i

G_i is the filler that `gap` asks for before record i since the first, 0 where the task asks for none. No term holds a
record's role, so that neither its distance to its neighbours nor that to the question says more of it than its rank
does, and where no order is told the rank is drawn by lot. Places given as numbers are exact for the evidence; whoever
knows the numbers knows the evidence by them, so that they are for charts of depth.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np

from ordinate.errors import InputError, got
from ordinate.validate.instances import Instance, Record
from ordinate.validate.streams import digest

PLACES = ("start", "middle", "end", "spread", "reversed")
"""Where records may be asked to stand, the evidence among them.

start, middle, end: all side by side, `gap` of the context apart; spread: one in each of as many equal parts as there
are records; reversed: the layout of spread read from the end, for instances that are not told in order.
"""

Places = str | Sequence[float]
SHIFT = 256  # tokens: how far a record may be moved so that the filler closes


def ordered(instance: Instance, places: Places) -> tuple[Record, ...]:
    """The records in the order in which they stand.

    Where the task tells no order, records stand by the sha256 of their names: evidence has no rank of its own, both
    members of a minimal pair have one order, and a control that lacks some of the records keeps that of the others.
    Places move filler, never records past one another, so that "the first record" and "the last" are no answers at
    any place.
    """
    if instance.ordered:
        if places == "reversed":
            raise InputError(f"the records of {instance.task!r} are told in order and cannot be reversed")
        return instance.records

    def rank(record: Record) -> bytes:
        return digest(instance.seed, instance.task, instance.unit, "order", record.name)

    return tuple(sorted(instance.records, key=rank, reverse=places == "reversed"))


def checked(places: Places, evidence: int) -> str | tuple[float, ...]:
    """The places, when they can be asked for.

    Raises:
        InputError: an unknown name, shares that do not rise from 0 to 1, or another number of them than one or one for
            each evidence record
    """
    if isinstance(places, str):
        if places not in PLACES:
            raise InputError(f"places must be one of {', '.join(PLACES)}, or shares of the context, got {got(places)}")
        return places
    shares = tuple(float(share) for share in places)
    if not shares or not all(0 <= share <= 1 for share in shares) or list(shares) != sorted(shares):
        raise InputError(f"places must be shares of the context that rise from 0 to 1, got {got(places)}")
    if len(shares) not in (1, evidence):
        raise InputError(f"places must be one share, or one for each of {evidence} evidence records, got {shares}")
    return shares


def gaps(
    counts: Sequence[int],
    evidence: Sequence[bool],
    places: str | tuple[float, ...],
    apart: float,
    filler: int,
    makes: Callable[[int], bool],
    generator: np.random.Generator,
) -> tuple[list[int], list[int]]:
    """How many tokens of filler stand before each record and after the last, and where each was asked to begin.

    A record begins exactly where it is asked to, or at the nearest place that sentences can make and, for places given
    as numbers, that the order of the records leaves it.

    Args:
        counts: tokens of the records, in the order in which they stand
        evidence: which of them are evidence; without use for places that have a name
        places: as `checked` gives them
        apart: the least share of the context between the beginnings of neighbouring records that stand together
        filler: tokens of filler in all
        makes: whether sentences can make a number of tokens
        generator: of the layout

    Returns:
        len(counts) + 1 numbers of tokens that sum to `filler`; for each record its token in the context

    Raises:
        InputError: sentences cannot make what is left over, or `apart` takes more than there is
    """
    before = list(accumulate(counts, initial=0))
    context = filler + before[-1]
    draws = generator.random(len(counts)).tolist()
    if places in ("spread", "reversed"):
        count = max(1, len(counts))
        wanted = [int(filler * (number + draw) / count) for number, draw in enumerate(draws)]
        if places == "reversed":
            wanted = [filler - place for place in reversed(wanted)]
    else:
        inside = list(accumulate((max(0, round(apart * context) - count) for count in counts[:-1]), initial=0))
        if inside[-1] > filler:
            raise InputError(f"{len(counts)} records cannot begin {apart:g} of the context apart: gap is too wide")
        if isinstance(places, str):
            first = round({"start": 0.0, "middle": 0.5, "end": 1.0}[places] * (filler - inside[-1]))
            wanted = [first + place for place in inside[: len(counts)]]
        else:
            wanted = _around(counts, before, evidence, places, inside, filler, draws)
    asked = [place + token for place, token in zip(wanted, before, strict=False)]
    return _closed(wanted, filler, makes), asked


def _around(
    counts: Sequence[int],
    before: Sequence[int],
    evidence: Sequence[bool],
    shares: tuple[float, ...],
    inside: Sequence[int],
    filler: int,
    draws: Sequence[float],
) -> list[int]:
    """Evidence at its shares, or the first of it at the one share; the other records beside the nearest in order."""
    context = filler + before[-1]
    known = [index for index, one in enumerate(evidence) if one]
    anchors = known[: len(shares)] or [int(draws[0] * len(counts)) for _ in counts[:1]]
    fixed: list[int] = []
    for index, share in zip(anchors, shares, strict=False):
        place = round(share * (context - counts[index])) - before[index]
        fixed.append(min(max(place, *fixed[-1:], 0), filler))
    wanted = []
    for index in range(len(counts)):
        group = sum(anchor <= index for anchor in anchors) - 1  # of the last anchor before it
        if 0 <= group < len(anchors) - 1:  # between two, where the run parts is drawn
            low, high = anchors[group], anchors[group + 1]
            group += index > low + int(draws[low] * (high - low))
        group = max(group, 0)
        place = fixed[group] + inside[index] - inside[anchors[group]]
        low = fixed[group] if anchors[group] <= index else max([0, *fixed[:group][-1:]])
        high = fixed[group] if anchors[group] >= index else min([filler, *fixed[group + 1 : group + 2]])
        wanted.append(min(max(place, low), high))
    return wanted


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
