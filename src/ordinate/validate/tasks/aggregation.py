"""Counts, sums, the largest and the different ones over all records of one seller."""

from typing import Any, ClassVar, NamedTuple

from ordinate.errors import InputError
from ordinate.validate.instances import Record
from ordinate.validate.tasks.base import Difficulty, Draft, Draw, Task, Version, decoys

QUESTIONS = {
    "count": "How many times did {seller} sell lamps? Give the number.",
    "sum": "How many lamps did {seller} sell in all? Give the number.",
    "argmax": "Who bought the most lamps at once from {seller}? Give the name.",
    "distinct": "To how many different buyers did {seller} sell lamps? Give the number.",
}
KINDS = tuple(QUESTIONS)
TOTALS = range(9, 25)
"""What three amounts of one digit come to."""


class Aggregation(Task):
    """What follows from all sales of one seller together.

    Four kinds of question, equally often. The seller is one of several with sales of the same kind, of whom each has
    another answer, and any of them is as often asked for: counts are 1, 2, 3 … times, buyers 1, 2, 3 … different ones
    in equally many sales, sums of three amounts any values from 9 to 24, largest amounts those of different buyers. Who
    sells also buys from the others: a seller's name stands in equally many sentences whatever the count is, and beside
    equally many other names whatever the number of buyers is.

    sellers: how many there are
    """

    name = "aggregation"
    title = "Count, sum, argmax and distinct over matching records"
    abilities = ("retrieve", "combine", "count")
    further = ("{name} sold {number:1} lamps to {name}.", "{name} sold {number:2} lamps to {name}.")
    defaults: ClassVar[Difficulty] = {"sellers": 4, "kind": "all"}
    brief: ClassVar[Difficulty] = {"sellers": 2}
    short: ClassVar[Difficulty] = {"sellers": 3, "demonstrations": 0}

    def check(self, difficulty: Difficulty) -> None:
        if not 2 <= difficulty["sellers"] <= 8:
            raise InputError(f"aggregation needs 2 to 8 sellers, got {difficulty['sellers']}")
        if difficulty["kind"] not in (*KINDS, "all"):
            raise InputError(
                f"aggregation's kind must be one of {', '.join((*KINDS, 'all'))}, got {difficulty['kind']!r}"
            )

    def chance(self, **difficulty: Any) -> float:
        """What follows from the sales of any of the sellers, as good as another."""
        return 1 / self.difficulty(difficulty)["sellers"]

    def draft(self, draw: Draw, difficulty: Difficulty) -> Draft:
        kind, count = difficulty["kind"], difficulty["sellers"]
        if kind == "all":
            kind = KINDS[draw.balanced("kind", 4)]
        *names, fresh = draw.names(count + count * max(1, count - 2) + 1)
        make = {"count": _count, "sum": _sum, "argmax": _argmax, "distinct": _distinct}[kind]
        case = make(draw, Names(names[:count], names[count:], fresh))
        own = _own(case.sales, case.asked)
        rest = [sale.told() for sale in case.sales if sale.seller != case.asked]

        def version(mine: list[Sale]) -> Version:
            records = [Record(sale.told(), "evidence", f"own {i}") for i, sale in enumerate(mine)]
            answer = _answer(kind, _own(mine, case.asked))
            return Version((*records, *decoys(rest)), (answer,))

        return Draft(
            version(own),
            QUESTIONS[kind].format(seller=case.asked),
            swapped=version(case.swapped),
            altered=version(case.altered),
            facts={"kind": kind, "matches": len(own)},
        )


class Sale(NamedTuple):
    """One record."""

    seller: str
    amount: int
    buyer: str

    def told(self) -> str:
        return f"{self.seller} sold {self.amount} lamps to {self.buyer}."


class Names(NamedTuple):
    """Who may be asked for, who else there is, and a name that is nowhere else."""

    sellers: list[str]
    outside: list[str]
    fresh: str


class Case(NamedTuple):
    """All sales, who is asked for, and other sales of this seller that lead to other answers."""

    sales: list[Sale]
    asked: str
    swapped: list[Sale]
    altered: list[Sale]


def _answer(kind: str, sales: list[Sale]) -> str:
    if kind == "argmax":
        return max(sales, key=lambda sale: sale.amount).buyer
    if kind == "sum":
        return str(sum(sale.amount for sale in sales))
    return str(len(sales if kind == "count" else {sale.buyer for sale in sales}))


def _own(sales: list[Sale], seller: str) -> list[Sale]:
    return [sale for sale in sales if sale.seller == seller]


def _count(draw: Draw, names: Names) -> Case:
    """The n-th seller sells n times, and buys so often that all are mentioned equally often."""
    count = len(names.sellers)
    selling = [seller for i, seller in enumerate(names.sellers) for _ in range(i + 1)]
    buying = [seller for i, seller in enumerate(names.sellers) for _ in range(count - i)]
    buyers = selling
    while any(seller == buyer for seller, buyer in zip(selling, buyers, strict=True)):
        buyers = draw.shuffled(buying)
    sales = [Sale(seller, draw.integer(2, 13), buyer) for seller, buyer in zip(selling, buyers, strict=True)]
    asked = names.sellers[draw.balanced("count", count)]
    first, *others = _own(sales, asked)
    fewer = [first._replace(seller=names.fresh), *others]
    return Case(sales, asked, fewer, fewer)


def _sum(draw: Draw, names: Names) -> Case:
    """Each sells three times: to two who sell, and to one who does not."""
    sellers = names.sellers
    own = TOTALS[draw.balanced("sum", len(TOTALS))]
    first, second, *totals = draw.sample([total for total in TOTALS if total != own], len(sellers) + 1)
    sales = []
    asked = draw.pick(sellers)
    for i, seller in enumerate(sellers):
        buyers = (sellers[i - 1], sellers[(i + 1) % len(sellers)], names.outside[i])
        amounts = _parts(draw, own if seller == asked else totals.pop())
        sales += [Sale(seller, amount, buyer) for amount, buyer in zip(amounts, buyers, strict=True)]
    swapped, altered = (
        [sale._replace(amount=amount) for sale, amount in zip(_own(sales, asked), _parts(draw, total), strict=True)]
        for total in (first, second)
    )
    return Case(sales, asked, swapped, altered)


def _argmax(draw: Draw, names: Names) -> Case:
    """Each sells as often as there are sellers, for any amounts, and nobody is the best buyer of two."""
    sellers, count = names.sellers, len(names.sellers)
    pairs = []
    for i, seller in enumerate(sellers):
        near = list(dict.fromkeys((sellers[i - 1], sellers[(i + 1) % count])))
        apart = count - len(near)
        pairs += [(seller, buyer) for buyer in (*near, *names.outside[i * apart : (i + 1) * apart])]
    best: set[str] = set()
    sales: list[Sale] = []
    while len(best) < count:
        amounts = draw.sample(range(10, 100), len(pairs))
        sales = [Sale(seller, amount, buyer) for (seller, buyer), amount in zip(pairs, amounts, strict=True)]
        best = {_answer("argmax", _own(sales, seller)) for seller in sellers}
    asked = draw.pick(sellers)
    own = _own(sales, asked)
    place = own.index(max(own, key=lambda sale: sale.amount))
    second = (place + 1) % count
    exchanged, renamed = own.copy(), own.copy()
    exchanged[place] = own[place]._replace(amount=own[second].amount)
    exchanged[second] = own[second]._replace(amount=own[place].amount)
    renamed[place] = own[place]._replace(buyer=names.fresh)
    return Case(sales, asked, exchanged, renamed)


def _distinct(draw: Draw, names: Names) -> Case:
    """The n-th seller sells to the n - 1 before and to one more, with whom all mentions are made equally many."""
    count, sales = len(names.sellers), []
    for i, seller in enumerate(names.sellers):
        more = names.outside[i]
        for buyer in (*names.sellers[:i], *[more] * (count - i)):
            sales.append(Sale(seller, draw.integer(2, 13), buyer))
        sales += [Sale(more, draw.integer(2, 13), seller) for _ in range(i)]
    asked = names.sellers[draw.balanced("distinct", count)]
    *others, last = _own(sales, asked)
    twice = last.buyer in {sale.buyer for sale in others}
    changed = [*others, last._replace(buyer=names.fresh if twice else others[0].buyer)]
    return Case(sales, asked, changed, changed)


def _parts(draw: Draw, total: int) -> tuple[int, int, int]:
    """Three amounts of one digit, none of them 1."""
    return draw.pick([(a, b, total - a - b) for a in range(2, 10) for b in range(2, 10) if 2 <= total - a - b <= 9])
