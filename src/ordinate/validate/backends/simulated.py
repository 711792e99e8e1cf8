"""A reader without a model in a backend's place, so that the whole suite can be run and tested."""

import math
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ordinate.errors import InputError, at_least, finite, positive_integer
from ordinate.validate.backends.base import Backend, Losses, Refusal, Reply
from ordinate.validate.backends.stopping import stopped
from ordinate.validate.builder import Prompt
from ordinate.validate.readers.base import Reader
from ordinate.validate.readers.copying import SuffixReader
from ordinate.validate.tokenizers import ByteTokenizer, Tokenizer

Cut = Callable[[Sequence[int], int], Sequence[int]]
"""What is left of ids that are more than so many."""

LEAD = "Answer:"


class Simulated(Backend):
    """Answers as a reader does, from the token ids alone; the same prompt always gets the same reply.

    Args:
        reader: what answers; a `SuffixReader` gives losses instead, and answers in tokens
        tokenizer: whose ids the prompts are
        limit: what it declares; what is longer is refused, or cut where `cut` says how
        seconds: what each answer takes, [s]
        concurrency: how many threads may ask at a time
        sure: the probability that it gives to what it would say, in (0, 1); the rest is shared by all else
        vocabulary: how many tokens share the rest in `losses`
        cut: what is read of a prompt beyond the limit, instead of a refusal; the tokens counted are those sent
        admits: the tokens counted are those that were read

    Raises:
        InputError: a number out of its range
    """

    name = "simulated"

    def __init__(
        self,
        reader: Reader | SuffixReader,
        tokenizer: Tokenizer | None = None,
        *,
        limit: int | None = None,
        seconds: float = 0.0,
        concurrency: int = 1,
        sure: float = 0.9,
        vocabulary: int = 256,
        cut: Cut | None = None,
        admits: bool = False,
    ) -> None:
        self.reader = reader
        self._tokenizer = ByteTokenizer() if tokenizer is None else tokenizer
        self._limit = None if limit is None else positive_integer("limit", limit)
        self.seconds = at_least("seconds", seconds, 0)
        self.concurrency = positive_integer("concurrency", concurrency)
        self.sure, self.vocabulary = finite("sure", sure), positive_integer("vocabulary", vocabulary)
        if not 0 < self.sure < 1:
            raise InputError(f"sure must be in (0, 1), got {sure}")
        self.cut, self.admits = cut, admits
        self.offers = frozenset({"answer", "losses"} if isinstance(reader, SuffixReader) else {"answer", "choices"})

    @property
    def identity(self) -> Mapping[str, str]:
        settings = {
            name: str(value)
            for name, value in sorted(vars(self.reader).items())
            if isinstance(value, (int, float, str)) and not name.startswith("_")
        }
        own = {"limit": str(self._limit), "sure": str(self.sure), "cut": getattr(self.cut, "__name__", str(self.cut))}
        return {"engine": "simulated", "reader": self.reader.name, **settings, **own}

    @property
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    @property
    def limit(self) -> int | None:
        return self._limit

    def answer(self, prompt: Prompt, tokens: int, *, stop: Sequence[str] = ()) -> Reply:
        began = time.monotonic()
        seen = self._seen(prompt.ids, tokens)
        time.sleep(self.seconds)
        if isinstance(self.reader, SuffixReader):
            said = list(self.reader.continue_ids(seen))
        else:
            said = self._tokenizer.encode(self._said(seen, prompt.mode))
        text, ended = stopped(self._tokenizer.decode(said[:tokens]), stop)
        counted = len(seen) if self.admits else len(prompt.ids)
        took = time.monotonic() - began
        return Reply(
            text=text,
            finish="stop" if ended or len(said) <= tokens else "length",
            tokens=min(len(said), tokens),
            prompt_tokens=counted,
            seconds=took,
        )

    def choices(self, prompt: Prompt, options: Sequence[str]) -> tuple[float, ...]:
        """What the reader would say has the probability `sure`; the other options share the rest."""
        if isinstance(self.reader, SuffixReader):
            return super().choices(prompt, options)
        said = self._said(self._seen(prompt.ids, 0), prompt.mode).strip().casefold()
        held = [option.strip().casefold() == said for option in options]  # readers say names in lower case
        if not any(held):
            return (-math.log(len(options)),) * len(options)
        rest = math.log((1 - self.sure) / max(len(options) - 1, 1))
        return tuple(math.log(self.sure) if each else rest for each in held)

    def losses(self, ids: Sequence[int], last: int) -> Losses:
        """What the reader would say next has the probability `sure`; where it says nothing, all tokens are alike."""
        if not isinstance(self.reader, SuffixReader):
            return super().losses(ids, last)
        if not 1 <= last < len(ids):
            raise InputError(f"last must be between 1 and {len(ids) - 1}, got {last}")
        ids = self._seen(ids, 0)
        nats, top1 = [], []
        for at in range(len(ids) - last, len(ids)):
            said = self.reader.continue_ids(ids[:at])
            right = bool(said) and said[0] == ids[at]
            chance = self.sure if right else (1 - self.sure) / (self.vocabulary - 1) if said else 1 / self.vocabulary
            nats.append(-math.log(chance))
            top1.append(right)
        return Losses(np.array(nats), np.array(top1))

    def _said(self, ids: Sequence[int], mode: str) -> str:
        """What the reader of words says; in a message of its own it writes the lead, which a prompt to continue has."""
        assert isinstance(self.reader, Reader)  # noqa: S101 - the others continue ids
        said = self.reader.answer(ids, self._tokenizer)
        return f"{LEAD} {said}" if said and mode != "base" else said

    def _seen(self, ids: Sequence[int], tokens: int) -> Sequence[int]:
        if self._limit is None or len(ids) + tokens <= self._limit:
            return ids
        if self.cut is None:
            raise Refusal(0, f"{len(ids)} tokens and {tokens} for the answer exceed the limit {self._limit}")
        return self.cut(ids, self._limit - tokens)
