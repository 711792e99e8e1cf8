"""A number that is told once, among numbers told in the same words of other keys."""

from typing import Any, ClassVar

from ordinate.errors import InputError
from ordinate.validate.tasks.base import Difficulty, Draft, Draw, Task, Version, decoys, evidence

OTHERS = ("gate", "boat", "barn", "mill", "door", "desk", "ship", "shop", "tent", "safe", "yard", "hall")
"""As long as "pass", which else would be the key of the shortest sentence."""


class PassKey(Task):
    """Which number is the pass key.

    The sentence is the papers'; with `others=0` so is the task, which a regular expression for any key solves, as it
    solves the papers' own. The default tells three more keys in the same words.

    Source: Mohtashami and Jaggi 2023, arXiv 2305.16300, appendix A (the sentence).
    Differs from the paper: other keys stand in the text, the number has a chosen count of digits, and the answer must
    be the number alone.
    """

    name = "passkey"
    title = "Passkey retrieval among other keys"
    abilities = ("retrieve",)
    further = (f"The {{{'|'.join(OTHERS)}}} key is {{number:<digits>}}. Remember it.",)
    defaults: ClassVar[Difficulty] = {"others": 3, "digits": 5}
    brief: ClassVar[Difficulty] = {"others": 1}
    short: ClassVar[Difficulty] = {"others": 1}

    def check(self, difficulty: Difficulty) -> None:
        if difficulty["others"] > len(OTHERS):
            raise InputError(f"passkey's others must be at most {len(OTHERS)}, got {difficulty['others']}")
        if not 2 <= difficulty["digits"] <= 12:
            raise InputError(f"passkey's digits must be between 2 and 12, got {difficulty['digits']}")

    def chance(self, **difficulty: Any) -> float:
        """One of the keys, named blindly; nothing where there is but one."""
        others = self.difficulty(difficulty)["others"]
        return 1 / (others + 1) if others else 0.0

    def draft(self, draw: Draw, difficulty: Difficulty) -> Draft:
        others = difficulty["others"]
        things = draw.sample(OTHERS, others)
        *values, fresh = draw.numbers(others + 2, difficulty["digits"])
        other = 1 if others else 0

        def version(values: list[str]) -> Version:
            told = [
                f"The {thing} key is {value}. Remember it. {value} is the {thing} key."
                for thing, value in zip(("pass", *things), values, strict=True)
            ]
            return Version(tuple(evidence(told[:1]) + decoys(told[1:])), (values[0],))

        swapped = [values[1], values[0], *values[2:]] if other else [fresh]
        return Draft(
            version(values),
            "What is the pass key?",
            swapped=version(swapped),
            altered=version([fresh, *values[1:]]),
            choices=tuple(sorted(values)) if others else (),
        )
