"""Readers that make no mistake in what they see, and do not see all."""

from collections.abc import Sequence

from ordinate.errors import InputError, finite, non_negative_integer, positive_integer
from ordinate.validate.readers.base import Decoder
from ordinate.validate.readers.oracle import Oracle


class Window(Oracle):
    """Sees the last tokens alone.

    Args:
        window: how many, [token]
    """

    name = "window"

    def __init__(self, window: int) -> None:
        super().__init__()
        self.window = positive_integer("window", window)

    def answer(self, ids: Sequence[int], tokenizer: Decoder) -> str:
        return self.respond(tokenizer.decode(list(ids)[-self.window :]))


class LostInTheMiddle(Oracle):
    """Sees the beginning and the end of a long prompt, and nothing between.

    Source: Liu et al. 2023, arXiv 2307.03172.
    Differs from the paper: models there grow weaker towards the middle; this reader sees it not at all.

    Args:
        head, tail: the share of the tokens that it sees at each end, in (0, 1)
        whole: a prompt of up to so many tokens is seen whole, [token]
    """

    name = "lost_in_the_middle"

    def __init__(self, head: float = 0.3, tail: float = 0.3, whole: int = 0) -> None:
        super().__init__()
        self.head, self.tail = finite("head", head), finite("tail", tail)
        self.whole = non_negative_integer("whole", whole)
        if self.head <= 0 or self.tail <= 0 or self.head + self.tail >= 1:
            raise InputError(f"head and tail must be shares above 0 with a sum below 1, got {head} and {tail}")

    def answer(self, ids: Sequence[int], tokenizer: Decoder) -> str:
        ids = list(ids)
        if len(ids) <= self.whole:
            return self.respond(tokenizer.decode(ids))
        head, tail = int(self.head * len(ids)), int(self.tail * len(ids))
        # the mark between keeps the two ends from making a sentence together
        return self.respond(f"{tokenizer.decode(ids[:head])} ... {tokenizer.decode(ids[-tail:])}")
