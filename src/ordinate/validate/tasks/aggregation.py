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


class Aggregation(Task):
    """What follows from all sales of one seller together.

    Four kinds of question, equally often. Their answers are spread evenly: counts over 1 to 5, sums of three amounts
    over all values from 9 to 24, the buyer of the largest amount over four buyers, the number of different buyers over
    1 to 4. The sales of others have the same form, and sometimes the seller is a buyer in them. The rank of the
    seller's largest amount among all amounts is drawn, so that neither the largest of all nor any other rank is it.
    """

    name = "aggregation"
    title = "Count, sum, argmax and distinct over matching records"
    abilities = ("retrieve", "combine", "count")
    further = ("{name} sold {number:1} lamps to {name}.", "{name} sold {number:2} lamps to {name}.")
    defaults: ClassVar[Difficulty] = {"sales": 9, "kind": "all"}
    brief: ClassVar[Difficulty] = {"sales": 5}
    short: ClassVar[Difficulty] = {"sales": 6, "demonstrations": 0}

    def check(self, difficulty: Difficulty) -> None:
        if not 5 <= difficulty["sales"] <= 60:
            raise InputError(f"aggregation needs 5 to 60 sales, got {difficulty['sales']}")
        if difficulty["kind"] not in (*KINDS, "all"):
            raise InputError(
                f"aggregation's kind must be one of {', '.join((*KINDS, 'all'))}, got {difficulty['kind']!r}"
            )

    def chance(self, **difficulty: Any) -> float:
        """One of the possible answers to the kind of question, named blindly."""
        kind = self.difficulty(difficulty)["kind"]
        shares = {"count": 1 / 5, "sum": 1 / 16, "argmax": 1 / 4, "distinct": 1 / 4}
        return sum(shares.values()) / 4 if kind == "all" else shares[kind]

    def draft(self, draw: Draw, difficulty: Difficulty) -> Draft:
        kind = difficulty["kind"]
        if kind == "all":
            kind = KINDS[draw.balanced("kind", 4)]
        seller, *names = draw.names(5 + difficulty["sales"])
        fresh, others, buyers = names[0], names[1:4], names[4:]
        make = {"count": _count, "sum": _sum, "argmax": _argmax, "distinct": _distinct}[kind]
        own, swapped, altered = make(draw, Names(seller, others[0], fresh, buyers))
        spare = [name for name in buyers if name not in {sale.buyer for sale in (*own.sales, *swapped.sales)}]
        rest = []
        for amount in _amounts(draw, kind, own.sales, difficulty["sales"] - len(own.sales)):
            to = seller if draw.integer(0, 5) == 0 else draw.pick(spare)
            rest.append(Sale(draw.pick(others), amount, to))

        def version(mine: Own) -> Version:
            records = [Record(sale.told(), "evidence", f"own {i}") for i, sale in enumerate(mine.sales)]
            return Version((*records, *decoys([sale.told() for sale in rest])), (mine.answer,))

        return Draft(
            version(own),
            QUESTIONS[kind].format(seller=seller),
            swapped=version(swapped),
            altered=version(altered),
            facts={"kind": kind, "matches": len(own.sales)},
        )


class Sale(NamedTuple):
    """One record."""

    seller: str
    amount: int
    buyer: str

    def told(self) -> str:
        return f"{self.seller} sold {self.amount} lamps to {self.buyer}."


class Names(NamedTuple):
    """Who sells, another who does, a name that is nowhere else, and who buys."""

    seller: str
    other: str
    fresh: str
    buyers: list[str]


class Own(NamedTuple):
    """The sales that the question is about, and the answer that follows."""

    sales: list[Sale]
    answer: str


def _count(draw: Draw, names: Names) -> tuple[Own, Own, Own]:
    count = 1 + draw.balanced("count", 5)
    sales = [Sale(names.seller, draw.integer(2, 13), buyer) for buyer in names.buyers[:count]]
    fewer = Own([sales[0]._replace(seller=names.other), *sales[1:]], str(count - 1))
    return Own(sales, str(count)), fewer, fewer


def _sum(draw: Draw, names: Names) -> tuple[Own, Own, Own]:
    total = 9 + draw.balanced("sum", 16)
    made = []
    for whole in (total, *draw.sample([another for another in range(9, 25) if another != total], 2)):
        parts = [(a, b, whole - a - b) for a in range(2, 10) for b in range(2, 10) if 2 <= whole - a - b <= 9]
        sales = [
            Sale(names.seller, amount, buyer) for amount, buyer in zip(draw.pick(parts), names.buyers, strict=False)
        ]
        made.append(Own(sales, str(whole)))
    return made[0], made[1], made[2]


def _argmax(draw: Draw, names: Names) -> tuple[Own, Own, Own]:
    amounts = draw.sample(range(20, 80), 4)
    place = amounts.index(max(amounts))
    second = (place + 1) % 4
    sales = [Sale(names.seller, amount, buyer) for amount, buyer in zip(amounts, names.buyers, strict=False)]
    exchanged, renamed = sales.copy(), sales.copy()
    exchanged[place] = sales[place]._replace(amount=amounts[second])
    exchanged[second] = sales[second]._replace(amount=amounts[place])
    renamed[place] = sales[place]._replace(buyer=names.fresh)
    return Own(sales, names.buyers[place]), Own(exchanged, names.buyers[second]), Own(renamed, names.fresh)


def _distinct(draw: Draw, names: Names) -> tuple[Own, Own, Own]:
    different = 1 + draw.balanced("distinct", 4)
    given = draw.shuffled([*range(different), *(draw.integer(0, different - 1) for _ in range(4 - different))])
    sales = [Sale(names.seller, draw.integer(2, 13), names.buyers[i]) for i in given]
    twice = [i for i in range(4) if given.count(given[i]) > 1]
    changed = sales.copy()
    if twice:
        changed[twice[0]] = sales[twice[0]]._replace(buyer=names.fresh)
    else:
        changed[0] = sales[0]._replace(buyer=sales[1].buyer)
    other_number = Own(changed, str(different + (1 if twice else -1)))
    return Own(sales, str(different)), other_number, other_number


def _amounts(draw: Draw, kind: str, sales: list[Sale], count: int) -> list[int]:
    """The amounts of the others: for an argmax, any number of them larger than the seller's largest."""
    if kind != "argmax":
        return [draw.integer(2, 13) for _ in range(count)]
    largest, above = max(sale.amount for sale in sales), draw.integer(0, count)
    amounts = [draw.integer(largest + 1, 99) if i < above else draw.integer(10, largest - 1) for i in range(count)]
    return draw.shuffled(amounts)
