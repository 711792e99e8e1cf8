"""One record among records whose keys differ by a character or two."""

from typing import Any, ClassVar

from ordinate.errors import InputError
from ordinate.validate.tasks.base import Difficulty, Draft, Draw, Task, Version, decoys, evidence

CHARACTERS = "0123456789"


class NearKey(Task):
    """Which word a key stands beside.

    All keys are one edit away from a code that is not told, so that they are one or two edits from each other, and
    none of them is the middle of the rest. The value of any of them is a possible answer.
    """

    name = "near_key"
    title = "Lookup among keys at edit distance 1 to 2"
    abilities = ("retrieve",)
    further = ("Box {number:<digits>} holds the {noun}.",)
    defaults: ClassVar[Difficulty] = {"keys": 6, "digits": 6}
    brief: ClassVar[Difficulty] = {"keys": 2}
    short: ClassVar[Difficulty] = {"keys": 4}

    def check(self, difficulty: Difficulty) -> None:
        keys, digits = difficulty["keys"], difficulty["digits"]
        if keys < 2 or not 2 <= digits <= 12:
            raise InputError(f"near_key needs at least 2 keys, of 2 to 12 digits, got {keys} of {digits}")
        if keys > 4 * digits:
            raise InputError(f"near_key's keys of {digits} digits must be at most {4 * digits}, got {keys}")

    def chance(self, **difficulty: Any) -> float:
        """One of the values, named blindly."""
        return 1 / self.difficulty(difficulty)["keys"]

    def draft(self, draw: Draw, difficulty: Difficulty) -> Draft:
        count, digits = difficulty["keys"], difficulty["digits"]
        code = [draw.pick(CHARACTERS) for _ in range(digits)]
        keys: list[str] = []
        while len(keys) < count:
            place = draw.integer(0, digits - 1)
            key = code.copy()
            key[place] = draw.pick([c for c in CHARACTERS if c != code[place]])
            if "".join(key) not in keys:
                keys.append("".join(key))
        *values, fresh = draw.nouns(count + 1)

        def version(values: list[str]) -> Version:
            told = [f"Box {key} holds the {value}." for key, value in zip(keys, values, strict=True)]
            return Version(tuple(evidence(told[:1]) + decoys(told[1:])), (values[0],))

        return Draft(
            version(values),
            f"What does box {keys[0]} hold? Name the thing in one word.",
            swapped=version([values[1], values[0], *values[2:]]),
            altered=version([fresh, *values[1:]]),
            choices=tuple(sorted(values)),
        )
