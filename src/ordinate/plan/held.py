"""Of how many tokens a layer keeps something: all, a window's, what eviction leaves; in pages, on ranks."""

from dataclasses import dataclass
from typing import Literal

from ordinate.errors import InputError, got, non_negative_integer, one_of, positive_integer

Allocator = Literal["window", "full"]
"""window: layers with a window keep its tokens alone; full: each layer has memory for the whole length."""


@dataclass(frozen=True)
class Holding:
    """How an engine keeps tokens.

    Args:
        allocator: what layers with a window keep
        page_size: of the pages that memory is given out in; None: exactly as many tokens as there are, [token]
        sinks, recent: eviction leaves the first and the last so many tokens; `recent` None: nothing is evicted, [token]
        shared_prefix: tokens at the beginning that all sequences of a batch have in common and keep once, [token]
        context_ranks: the tokens of a sequence are cut among so many
        between_steps: as a cache lies between two steps, where a window W keeps W - 1 tokens: the next brings its own
    """

    allocator: Allocator = "window"
    page_size: int | None = None
    sinks: int = 0
    recent: int | None = None
    shared_prefix: int = 0
    context_ranks: int = 1
    between_steps: bool = False

    def __post_init__(self) -> None:
        one_of("allocator", self.allocator, ("window", "full"))
        if self.page_size is not None:
            positive_integer("page_size", self.page_size)
        non_negative_integer("sinks", self.sinks)
        non_negative_integer("shared_prefix", self.shared_prefix)
        positive_integer("context_ranks", self.context_ranks)
        if self.recent is not None:
            positive_integer("recent", self.recent)
        elif self.sinks:
            raise InputError(
                f"sinks stay where the rest is evicted: give the recent tokens too, got sinks {self.sinks}"
            )
        if self.shared_prefix and self.recent is not None:
            raise InputError(
                f"a shared prefix is not evicted: give a shared prefix or eviction, got {got(self.shared_prefix)} and "
                f"{got(self.recent)}"
            )


@dataclass(frozen=True)
class Held:
    """Tokens in one layer, over all sequences of a batch, on the rank that has most.

    Args:
        tokens: that stand there
        room: that memory is taken for; the rest of the last pages is waste
    """

    tokens: int
    room: int


def held(tokens: int, batch: int, window: int | None, how: Holding) -> Held:
    """Of how many tokens one layer keeps something, on the rank that has most.

    all:             N
    window W:        min(N, W); between two steps min(N, W - 1)
    eviction:        min(N, sinks + recent)
    ranks:           the fullest has min(ceil(N / ranks), the above)
    pages of P:      ceil(n / P) pages; a window that slides lies across up to ceil((W - 1) / P) + 1
    shared prefix S: shared + batch * (n - shared), shared being what of the whole pages of S is still seen

    Args:
        tokens: of each sequence, [token]
        batch: sequences
        window: tokens that a query sees in this layer; None for all, [token]
        how: an engine keeps them
    """
    tokens, batch = non_negative_integer("tokens", tokens), positive_integer("batch", batch)
    seen = None if window is None or how.allocator == "full" else window - 1 if how.between_steps else window
    kept = tokens if seen is None else min(tokens, seen)
    if how.recent is not None:
        kept = min(kept, how.sinks + how.recent)
    own = min(-(-tokens // how.context_ranks), kept)
    shared = _shared(tokens, kept, how)
    page = how.page_size
    if page is None:
        return Held(shared + batch * (own - shared), shared + batch * (own - shared))
    pages = _pages(tokens, own, kept, how)
    whole = shared // page
    return Held(shared + batch * (own - shared), (whole + batch * (pages - whole)) * page)


def _pages(tokens: int, own: int, kept: int, how: Holding) -> int:
    """How many pages what one sequence keeps lies across, at worst."""
    page = how.page_size or 1
    mine = -(-tokens // how.context_ranks)
    if own == mine:  # nothing has gone
        return -(-own // page)
    # What slides begins anywhere in a page; sinks stay where they are.
    sinks = 0 if how.recent is None or kept < how.sinks + how.recent else how.sinks
    recent = own - min(sinks, own)
    pages = -(-min(sinks, own) // page) + (-(-(recent - 1) // page) + 1 if recent else 0)
    return min(-(-mine // page), pages)


def _shared(tokens: int, kept: int, how: Holding) -> int:
    """How many tokens of the shared prefix a layer still keeps, once for all sequences, on the fullest rank."""
    page = how.page_size or 1
    prefix = min(how.shared_prefix, tokens) // page * page
    seen = max(0, prefix - (tokens - kept)) // page * page
    return seen // how.context_ranks // page * page
