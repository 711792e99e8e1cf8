"""Prompts of a wanted length whose beginning no cache has seen."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from ordinate import texts
from ordinate.audit.server.tokenizers import Tokenizer
from ordinate.errors import InputError

NOVEL = "persuasion"
CANARIES = 9
"""Canaries stand at the head, at every eighth and at the tail of a prompt."""

_LEAST = 12
_CODE = 100_000


@dataclass(frozen=True)
class Prompt:
    """What is sent.

    Args:
        text: as text
        ids: as token ids, without the tokenizer's prefix; None where no tokenizer is at hand
        tokens: its length, [token]; about that where no tokenizer is at hand
    """

    text: str
    ids: tuple[int, ...] | None
    tokens: int

    @property
    def exact(self) -> bool:
        """Whether its length is known."""
        return self.ids is not None


def read_words() -> tuple[str, ...]:
    """The words of the novel that prompts are made of, in ASCII, of which every tokenizer makes few tokens."""
    return tuple(texts.read(NOVEL).body.encode("ascii", "ignore").decode().split())


class Writer:
    """Writes prompts from a novel.

    Args:
        tokenizer: None where there is none; lengths then are estimates
        density: tokens of a word, where there is no tokenizer, [token/word]
        seed: of what makes each prompt's beginning its own
        words: of the novel, as `read_words` gives them
    """

    def __init__(self, tokenizer: Tokenizer | None, density: float, seed: int, words: Sequence[str]) -> None:
        self._tokenizer, self._density = tokenizer, density
        self._random = random.Random(seed)  # noqa: S311 - nothing secret
        self._words = words

    def fresh(self, tokens: int) -> Prompt:
        """A prompt of `tokens` tokens with a beginning of its own.

        Args:
            tokens: at least 12

        Raises:
            InputError: fewer
        """
        if tokens < _LEAST:
            raise InputError(f"a prompt needs {_LEAST} tokens to begin like no other, got {tokens}")
        return self.cut(self.text(f"{self._opening()} {self.prose(tokens)}"), tokens)

    def text(self, text: str) -> Prompt:
        """A text as a prompt."""
        if self._tokenizer is None:
            return Prompt(text, None, max(round(len(text.split()) * self._density), 1))
        ids = tuple(self._tokenizer.encode(text))
        return Prompt(text, ids, len(ids))

    def numbers(self, ids: tuple[int, ...]) -> Prompt:
        """Ids as a prompt; needs the tokenizer."""
        assert self._tokenizer is not None  # noqa: S101 - ids come from it
        return Prompt(self._tokenizer.decode(list(ids)), ids, len(ids))

    def cut(self, prompt: Prompt, tokens: int) -> Prompt:
        """The first tokens of a prompt."""
        if prompt.ids is not None:
            return self.numbers(prompt.ids[:tokens])
        words = prompt.text.split(" ")
        return self.text(" ".join(words[: max(round(tokens / self._density), 1)]))

    def joined(self, *prompts: Prompt) -> Prompt:
        """Prompts one after the other."""
        if all(prompt.ids is not None for prompt in prompts):
            return self.numbers(tuple(number for prompt in prompts for number in prompt.ids or ()))
        return self.text(" ".join(prompt.text for prompt in prompts))

    def prose(self, tokens: int) -> str:
        """At least `tokens` tokens of the novel, from a place drawn by chance."""
        count = tokens if self._tokenizer is not None else round(tokens / self._density) + 1
        start = self._random.randrange(len(self._words) - min(count, len(self._words)) + 1)
        words = list(self._words[start : start + count])
        while len(words) < count:  # longer than the novel
            words += self._words[: count - len(words)]
        return " ".join(words)

    def code(self) -> str:
        """A number of five digits."""
        return f"{self._random.randrange(_CODE // 10, _CODE)}"

    def _opening(self) -> str:
        # The number comes first: a prefix that is cached in blocks then differs from its first block on.
        return f"{self.code()}{self.code()[:3]}:"
