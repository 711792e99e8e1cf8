"""Readers of bare tokens, for the copying of random blocks."""

from collections.abc import Sequence

from ordinate.errors import positive_integer


class SuffixReader:
    """Continues as the text did after the longest earlier run of tokens that it ends with, the latest of these.

    Args:
        tokens: how many it says
        longest: how much of the end it looks for: 1 leaves the last token alone, which any key's end equals
        window: how many of the last tokens it sees; None for all
    """

    name = "suffix"

    def __init__(self, tokens: int, *, longest: int = 4, window: int | None = None) -> None:
        self.tokens, self.longest = positive_integer("tokens", tokens), positive_integer("longest", longest)
        self.solves = frozenset({"associative_copy"} if self.longest > 1 else ())
        self.window = None if window is None else positive_integer("window", window)

    def continue_ids(self, ids: Sequence[int]) -> tuple[int, ...]:
        """The tokens that follow."""
        seen = tuple(ids if self.window is None else ids[-self.window :])
        for length in range(min(self.longest, len(seen) - 1), 0, -1):
            end = seen[-length:]
            for start in range(len(seen) - length - 1, -1, -1):
                if seen[start : start + length] == end:
                    return seen[start + length : start + length + self.tokens]
        return ()
