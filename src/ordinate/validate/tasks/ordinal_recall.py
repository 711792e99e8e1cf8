"""The first, second, third … of several lines of one writer."""

from math import comb
from typing import Any, ClassVar

from ordinate.errors import InputError
from ordinate.validate.tasks.base import Difficulty, Draft, Draw, Task, Version, decoys, evidence

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


class OrdinalRecall(Task):
    """What somebody wrote the n-th time.

    The lines are fresh words, so that nothing but their place among the writer's lines tells them apart, and the lines
    of others stand between. All lines up to the one asked for are evidence, since one that is overlooked moves the
    count. The answer is the whole line.

    Source: Vodrahalli et al. 2024, arXiv 2409.12640 (MRCR).
    Differs from the paper: lines are of words that exist nowhere, and are compared as a whole.
    """

    name = "ordinal_recall"
    title = "The n-th of several lines of one writer"
    abilities = ("retrieve", "order", "count")
    defaults: ClassVar[Difficulty] = {"lines": 4, "writers": 3, "words": 3}
    brief: ClassVar[Difficulty] = {"lines": 2, "writers": 2}
    short: ClassVar[Difficulty] = {"lines": 3, "demonstrations": 0}
    form = "line"

    def check(self, difficulty: Difficulty) -> None:
        if not 2 <= difficulty["lines"] <= len(ORDINALS) or difficulty["writers"] < 1 or difficulty["words"] < 1:
            raise InputError(
                f"ordinal_recall needs 2 to {len(ORDINALS)} lines, at least 1 writer and 1 word, got {dict(difficulty)}"
            )

    def chance(self, **difficulty: Any) -> float:
        """One of the writer's lines, named blindly; or the line of any writer that is likeliest to be the n-th."""
        level = self.difficulty(difficulty)
        own, all_lines = level["lines"], level["lines"] * level["writers"]
        likeliest = [
            max(comb(place, n) * comb(all_lines - 1 - place, own - 1 - n) for place in range(all_lines))
            for n in range(own)
        ]
        return max(1 / own, sum(likeliest) / own / comb(all_lines, own))

    def forms(self, difficulty: Difficulty) -> tuple[str, ...]:
        return ("{name} wrote the words" + " {noun}" * difficulty["words"] + ".",)

    def draft(self, draw: Draw, difficulty: Difficulty) -> Draft:
        lines, writers, words = difficulty["lines"], difficulty["writers"], difficulty["words"]
        names = draw.names(writers)
        drawn = draw.nouns((lines * writers + 1) * words)
        *texts, fresh = (" ".join(drawn[i : i + words]) for i in range(0, len(drawn), words))
        order = draw.shuffled([writer for writer in range(writers) for _ in range(lines)])
        own = [i for i, writer in enumerate(order) if writer == 0]
        asked = draw.balanced("asked", lines)
        other = draw.pick([i for i in range(lines) if i != asked])

        def version(texts: list[str]) -> Version:
            records = []
            for i, writer in enumerate(order):
                make = evidence if i in own[: asked + 1] else decoys
                records += make([f"{names[writer]} wrote the words {texts[i]}."], f"line {i}")
            return Version(tuple(records), (texts[own[asked]],))

        exchanged, renamed = texts.copy(), texts.copy()
        exchanged[own[asked]], exchanged[own[other]] = texts[own[other]], texts[own[asked]]
        renamed[own[asked]] = fresh
        return Draft(
            version(texts),
            f"Which words did {names[0]} write the {ORDINALS[asked]} time? Copy them.",
            swapped=version(exchanged),
            altered=version(renamed),
            choices=tuple(sorted(texts[i] for i in own)),
            ordered=True,
            facts={"asked": asked + 1},
        )
