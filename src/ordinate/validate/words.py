"""Fresh words: names that no text holds, all of one length in a tokenizer's tokens."""

import re
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from ordinate.errors import InputError, positive_integer
from ordinate.validate.streams import stream
from ordinate.validate.tokenizers import Tokenizer, continuation

CONSONANTS = (*"bdfghklmnprstvz", "br", "dr", "fl", "gr", "kr", "pl", "st", "tr")
VOWELS = tuple("aeiou")
ENDS = ("", "l", "m", "n", "r", "s", "x")
TRIES = 400
"""Draws in a row that may fail, before it is said that there are no more such words."""


class Words:
    """Where a task takes its entities and values from; what is drawn depends on the generator and the tokenizer alone.

    Within one call all results differ, and take equally many tokens after a space (which of the counts: the most
    frequent one of such words).

    Args:
        tokenizer: whose tokens count
        texts: whose words are never drawn, beside those of the shipped novels; give a filler of your own here

    >>> from ordinate.validate.tokenizers import ByteTokenizer
    >>> source = Words(ByteTokenizer())
    >>> len({len(name) for name in source.names(stream(1, "example", 0), 5)})
    1
    """

    def __init__(self, tokenizer: Tokenizer, texts: Iterable[str] = ()) -> None:
        from ordinate.texts import names, read

        self._tokenizer = tokenizer
        self._taken = set()
        for text in (*(read(name).text for name in names()), *texts):
            self._taken.update(re.findall(r"[a-z]+", text.lower()))
        self._counts: dict[str, int] = {}

    def names(self, generator: np.random.Generator, count: int) -> tuple[str, ...]:
        """Capitalised pseudo-words such as "Tavomil", none of which occurs in a shipped text."""
        return self._draw("names", lambda source: self._word(source).capitalize(), generator, count)

    def nouns(self, generator: np.random.Generator, count: int) -> tuple[str, ...]:
        """Pseudo-words in lower case."""
        return self._draw("nouns", self._word, generator, count)

    def numbers(self, generator: np.random.Generator, count: int, digits: int) -> tuple[str, ...]:
        """Decimal numbers of so many digits, the first not 0."""
        positive_integer("digits", digits)
        if count > 9 * 10 ** (digits - 1):
            raise InputError(f"there are {9 * 10 ** (digits - 1)} numbers of {digits} digits, got {count} to draw")

        def number(source: np.random.Generator) -> str:
            return str(source.integers(10 ** (digits - 1), 10**digits))

        return self._draw(f"numbers of {digits}", number, generator, count)

    def tokens(self, word: str) -> int:
        """How many tokens a word takes after a space."""
        return len(continuation(self._tokenizer, " " + word))

    def _word(self, generator: np.random.Generator) -> str:
        while True:
            word = pseudo_word(generator)
            if word not in self._taken:
                return word

    def _draw(
        self, kind: str, one: Callable[[np.random.Generator], str], generator: np.random.Generator, count: int
    ) -> tuple[str, ...]:
        if kind not in self._counts:  # always by the same sample, whatever was drawn before
            sample = stream(0, "words", 0, kind)
            seen = Counter(self.tokens(one(sample)) for _ in range(200))
            self._counts[kind] = min(seen, key=lambda tokens: (-seen[tokens], tokens))
        found: dict[str, None] = {}
        failed = 0
        while len(found) < count:
            word = one(generator)
            if word in found or self.tokens(word) != self._counts[kind]:
                failed += 1
                if failed > TRIES:
                    raise InputError(f"{count} {kind} of {self._counts[kind]} tokens each: only {len(found)} are found")
                continue
            failed = 0
            found[word] = None
        return tuple(found)


def pseudo_word(generator: np.random.Generator) -> str:
    """A word of two or three open syllables and perhaps a last consonant, in lower case; now and then a real one."""
    numbers = generator.integers(0, 2**31, 7).tolist()
    parts = []
    for i in range(2 + (numbers[6] % 3 == 0)):
        parts.append(CONSONANTS[numbers[2 * i] % len(CONSONANTS)] + VOWELS[numbers[2 * i + 1] % len(VOWELS)])
    return "".join(parts) + ENDS[numbers[6] // 3 % len(ENDS)]
