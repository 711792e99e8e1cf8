"""Prompts of exactly N tokens with nine canaries, and the same prompts with a part of them rewritten."""

from dataclasses import dataclass, replace
from functools import cached_property

from ordinate.audit.server.canaries import HEAD, begun, told
from ordinate.audit.server.prompts import CANARIES
from ordinate.errors import InputError
from ordinate.validate.builder import Builder, Prompt
from ordinate.validate.instances import Instance, Record
from ordinate.validate.streams import stream
from ordinate.validate.tokenizers import Tokenizer, continuation

TASK = "canaries"
DIGITS = 5
SPARE = 64
"""Tokens beyond the shortest prompt that the short prompt has, for filler."""

_SHARES = tuple(part / (CANARIES - 1) for part in range(1, CANARIES))
_FILLERS = ("generated", "prose")


@dataclass(frozen=True)
class Marked:
    """A prompt of each question about one text.

    Args:
        prompts: by the canary asked for
        codes: of the canaries
        blind: how many tokens may be lost at the beginning without a sign, [token]
    """

    prompts: tuple[Prompt, ...]
    codes: tuple[str, ...]
    blind: int

    @property
    def apart(self) -> int:
        """The most tokens between two canaries, all of which may be lost without a sign, [token]."""
        placed = self.prompts[0].placed
        starts = [self.prompts[0].context[0], *(placed[str(part)].stop for part in range(1, CANARIES))]
        return max(placed[str(part)].start - starts[part - 1] for part in range(1, CANARIES))


class Canaries:
    """Writes prompts with canaries for one tokenizer and mode.

    The first canary is the first line, before everything else; the others stand at every eighth of the context, the
    last just before the question. All nine prompts of one text are the same up to the question, so that a server
    that keeps beginnings reads the text once.

    Args:
        tokenizer: the model's own
        mode: "base" or "chat"
        seed: of codes and text

    Raises:
        InputError: a chat mode, and a tokenizer without a template
    """

    def __init__(self, tokenizer: Tokenizer, *, mode: str = "base", seed: int = 0) -> None:
        self.tokenizer, self.mode, self.seed = tokenizer, mode, seed
        self._builders = tuple(Builder(tokenizer, filler=filler, mode=mode) for filler in _FILLERS)

    @property
    def steps(self) -> int:
        """Room for an answer: a code, and in chat what is said around it, [token]."""
        return 2 * DIGITS if self.mode == "base" else 4 * DIGITS + 12

    @cached_property
    def short(self) -> int:
        """The length at which a model is asked first what it can repeat at all, [token]."""
        instance, codes = self._instance(0, 1, "")
        return self._builders[0].needed(instance, nonce=told(HEAD, codes[HEAD])) + SPARE

    def write(self, length: int, index: int = 0, *, other: bool = False) -> Marked:
        """The nine prompts of one text.

        Args:
            length: of each, [token]
            index: which text
            other: the same layout with other codes and other filler

        Raises:
            InputError: too short
        """
        builder, use = self._builders[other], "other" if other else ""
        texts = [self._instance(index, part, use) for part in range(CANARIES)]
        codes = texts[HEAD][1]
        first = told(HEAD, codes[HEAD])
        prompts = tuple(
            builder.build(instance, length, places=_SHARES, nonce=first, reserve=self.steps) for instance, _ in texts
        )
        line = len(self.tokenizer.encode(first.partition(codes[HEAD])[0] + codes[HEAD][0])) - 1
        return Marked(prompts, codes, prompts[0].head + line)

    def rewritten(self, marked: Marked, others: Marked, asked: int, first: int, last: int) -> Prompt | None:
        """The prompt of one question in which all from one canary to another, both with it, is another text.

        Args:
            marked, others: `write` of the same length and index, and the same with `other`
            asked: the question
            first, last: canaries; 0 for the prompt's beginning, 8 for all up to the question

        Returns:
            None where the two texts are not laid out alike, or their tokens do not hold together
        """
        mine, theirs = marked.prompts[asked], others.prompts[asked]
        start = 0 if first == HEAD else mine.placed[str(first - 1)].stop if first > 1 else mine.context[0]
        stop = mine.question[0] if last == CANARIES - 1 else mine.placed[str(last + 1)].start
        there = 0 if first == HEAD else theirs.placed[str(first - 1)].stop if first > 1 else theirs.context[0]
        end = theirs.question[0] if last == CANARIES - 1 else theirs.placed[str(last + 1)].start
        if (start, stop) != (there, end):
            return None
        ids = mine.ids[:start] + theirs.ids[start:stop] + mine.ids[stop:]
        inner = ids[mine.head : len(ids) - mine.tail]
        text = self.tokenizer.decode(inner)
        # With a template around it a message may begin with other tokens than alone: only the text's own are compared.
        if tuple(self.tokenizer.encode(text)) != inner:
            return None
        return replace(mine, ids=ids, text=text)

    def _instance(self, index: int, asked: int, use: str) -> tuple[Instance, tuple[str, ...]]:
        codes = self._codes(index, use)
        records = tuple(
            Record(told(part, code), "evidence", str(part)) for part, code in enumerate(codes) if part != HEAD
        )
        instance = Instance(
            task=TASK,
            index=index,
            seed=self.seed,
            records=records,
            question=f"What is the code of note {asked}?",
            lead=begun(asked),
            answer=(codes[asked],),
            ordered=True,
        )
        return instance, codes

    def _codes(self, index: int, use: str) -> tuple[str, ...]:
        """Different numbers that take equally many tokens, so that one text's layout is the other's."""
        drawn = stream(self.seed, TASK, index, f"codes {use}".strip()).permutation(10**DIGITS - 10 ** (DIGITS - 1))
        counted: dict[int, list[str]] = {}
        for number in drawn[: 20 * CANARIES] + 10 ** (DIGITS - 1):
            same = counted.setdefault(len(continuation(self.tokenizer, f" {number}")), [])
            same.append(str(number))
        most = max(counted.values(), key=len)
        if len(most) < CANARIES:
            raise InputError(f"{CANARIES} codes of equally many tokens are needed, got {len(most)}")
        return tuple(most[:CANARIES])


def check_mode(mode: str) -> str:
    """The mode, where canaries can be asked for in it.

    Raises:
        InputError: it is "reasoning", or none
    """
    if mode not in ("base", "chat"):
        raise InputError(f"canaries are asked for in mode 'base' or 'chat', got {mode!r}")
    return mode
