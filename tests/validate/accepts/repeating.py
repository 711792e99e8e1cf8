"""Readers that repeat canaries, well or badly, from token ids alone."""

import hashlib
import re
from collections.abc import Callable, Sequence

from ordinate.validate.readers.base import Reader

ASKED = re.compile(r"The code of note (\d) is ?$")


def keep_end(ids: Sequence[int], count: int) -> Sequence[int]:
    return ids[len(ids) - count :]


def keep_start(ids: Sequence[int], count: int) -> Sequence[int]:
    return ids[:count]


def keep_ends(ids: Sequence[int], count: int) -> Sequence[int]:
    return [*ids[: count // 2], *ids[len(ids) - (count - count // 2) :]]


CUTS = {"head": keep_end, "tail": keep_start, "middle": keep_ends}


class Repeating(Reader):
    """Repeats the code that the end of the text asks for; else goes on as all that it read leads it."""

    name = "repeating"

    def respond(self, text: str) -> str:
        return self.repeated(text) or self.otherwise(text)

    def otherwise(self, text: str) -> str:
        return " " + "".join(chr(97 + byte % 26) for byte in hashlib.sha256(text.encode()).digest()[:6])

    def repeated(self, text: str) -> str:
        asked = ASKED.search(text)
        found = asked and re.search(rf"The code of note {asked[1]} is (\d{{5}})\.", text)
        return f" {found[1]}." if found else ""


class Forgetful(Repeating):
    """Repeats nothing that stands further back than so many characters, but reads all of it."""

    name = "forgetful"

    def __init__(self, reach: int) -> None:
        self.reach = reach

    def respond(self, text: str) -> str:
        return self.repeated(text[-self.reach :]) or self.otherwise(text)


class Dull(Reader):
    """Says the same whatever is asked."""

    name = "dull"

    def respond(self, _text: str) -> str:
        return " a quiet day"


class Collapsing(Repeating):
    """Repeats codes from texts up to so many characters, and says one thing to longer ones."""

    name = "collapsing"

    def __init__(self, longest: int, babble: str) -> None:
        self.longest, self.babble = longest, babble

    def respond(self, text: str) -> str:
        return super().respond(text) if len(text) <= self.longest else self.babble


class Rambling(Forgetful):
    """Never says the same twice, and repeats nothing from further back than its reach."""

    name = "rambling"

    def __init__(self, reach: int) -> None:
        super().__init__(reach)
        self.asked = 0

    def otherwise(self, _text: str) -> str:
        self.asked += 1
        return f" word {self.asked}"


class Turning(Repeating):
    """Repeats codes, but says nonsense to every request whose number `turned` holds of, from 1 on; None: of its own."""

    name = "turning"

    def __init__(self, babble: str | None, turned: Callable[[int], bool]) -> None:
        self.babble, self.turned, self.asked = babble, turned, 0

    def respond(self, text: str) -> str:
        self.asked += 1
        if not self.turned(self.asked):
            return super().respond(text)
        return self.otherwise(text) if self.babble is None else self.babble
