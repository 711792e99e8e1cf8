"""Chains of links, all of one length, of which the question names one's beginning."""

from itertools import pairwise
from typing import Any, ClassVar

from ordinate.errors import InputError
from ordinate.validate.tasks.base import Difficulty, Draft, Draw, Task, Version, decoys, evidence

ORDERS = ("random", "forward", "backward")


class MultiHop(Task):
    """Who stands at the end of a chain.

    Every chain has as many links as the one that is asked for, so that a name which nobody follows is no more than one
    of so many ends. Chains are told link by link, all first links before all second ones ("forward"), the other way
    round ("backward"), or with all links mixed ("random"); inside a layer the order is random, so that no end stands
    in a place of its own beside its beginning.

    Distractors may grow at a fixed length (`chains`, or `loose` links that belong to chains of other lengths, which
    leaves the number of ends that fit as it is), and the length at fixed distractors.

    Source: Hsieh et al. 2024, arXiv 2404.06654 (RULER, variable tracking).
    Differs from the paper: there are decoy chains of equal form; without them, the first names of a text were right.
    """

    name = "multi_hop"
    title = "Chains of 1 to 4 links among decoy chains"
    abilities = ("retrieve", "link")
    further = ("{name} reports to {name}.",)
    defaults: ClassVar[Difficulty] = {"hops": 2, "chains": 4, "loose": 0, "order": "random"}
    brief: ClassVar[Difficulty] = {"chains": 2, "loose": 0}
    short: ClassVar[Difficulty] = {"chains": 2}

    def check(self, difficulty: Difficulty) -> None:
        if not 1 <= difficulty["hops"] <= 4 or difficulty["chains"] < 2:
            raise InputError(
                f"multi_hop needs 1 to 4 hops and at least 2 chains, got {difficulty['hops']} and "
                f"{difficulty['chains']}"
            )
        if difficulty["hops"] == 1 and difficulty["loose"] == 1:
            raise InputError("multi_hop's loose must not be 1 with 1 hop: a loose link would be a chain")
        if difficulty["order"] not in ORDERS:
            raise InputError(f"multi_hop's order must be one of {', '.join(ORDERS)}, got {difficulty['order']!r}")

    def chance(self, **difficulty: Any) -> float:
        """The end of one of the chains of the right length, named blindly."""
        return 1 / self.difficulty(difficulty)["chains"]

    def draft(self, draw: Draw, difficulty: Difficulty) -> Draft:
        hops, chains, loose = difficulty["hops"], difficulty["chains"], difficulty["loose"]
        *drawn, fresh = draw.names(chains * (hops + 1) + 2 * loose + 1)
        names = [drawn[i * (hops + 1) : (i + 1) * (hops + 1)] for i in range(chains)]
        spare = drawn[chains * (hops + 1) :]
        # loose links: apart where chains have more than one, else one behind the other, so that none is such a chain
        extra = list(zip(spare[:loose], spare[loose:], strict=True) if hops > 1 else pairwise(spare[: loose + 1]))
        places = draw.shuffled([(layer, chain) for layer in range(hops) for chain in range(chains)])
        if difficulty["order"] != "random":
            places.sort(key=lambda place: place[0], reverse=difficulty["order"] == "backward")
        slots = [draw.integer(0, len(places)) for _ in extra]

        def version(names: list[list[str]]) -> Version:
            records = []
            for layer, chain in places:
                text = f"{names[chain][layer]} reports to {names[chain][layer + 1]}."
                make = evidence if chain == 0 else decoys
                records += make([text], f"chain {chain} link {layer}")
            for place, (left, right), i in sorted(zip(slots, extra, range(len(extra)), strict=True), reverse=True):
                records[place:place] = decoys([f"{left} reports to {right}."], f"loose {i}")
            return Version(tuple(records), (names[0][-1],))

        swapped = [[*names[0][:-1], names[1][-1]], [*names[1][:-1], names[0][-1]], *names[2:]]
        return Draft(
            version(names),
            f"{names[0][0]} reports to somebody, who may report to another, and so on. Who is the last in that chain?",
            swapped=version(swapped),
            altered=version([[*names[0][:-1], fresh], *names[1:]]),
            choices=tuple(sorted(chain[-1] for chain in names)),
            ordered=difficulty["order"] != "random",
            facts={"chain": tuple(names[0])},
        )
