"""What moved positions have in common: the rule that gives each token the position at which it was found."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Moved:
    """Tokens that were found at other positions than their own.

    Args:
        tokens: [found], the position that each should have, [token]
        stands: [found], the position that it has, [token]
        rows: [found], the row of the batch
        starts: [found], the first token of the pass in which it was computed
        ends: [found], the last token of that pass
        later: [found], how many passes of its row came after that one
        before: [found], places before its row's first token: padding, or other documents, [token]
        all_before: the same of every row of the batch, [token]
        window: of the model's sliding layers, or None, [token]
    """

    tokens: Tensor
    stands: Tensor
    rows: Tensor
    starts: Tensor
    ends: Tensor
    later: Tensor
    before: Tensor
    all_before: tuple[int, ...]
    window: int | None


def patterns(moved: Moved) -> list[tuple[str, str]]:
    """The kinds of fault whose rule gives every token the position at which it stands, and each rule in words.

    The likeliest comes first; several where the tokens that were seen do not tell them apart.
    """
    seen = f"token {int(moved.tokens[0])} stands at position {int(moved.stands[0])}"
    found: list[tuple[str, str]] = []
    for kind, words, rules in _RULES:
        if any(torch.equal(expected, moved.stands) for expected in rules(moved)):
            found.append((kind, f"{seen}: {words}"))
    if found:
        return found
    apart = moved.stands - moved.tokens
    if bool((apart == apart[0]).all()):
        words = f"every token stands {abs(int(apart[0]))} {'behind' if apart[0] > 0 else 'before'} its place"
        return [("offset", words)]
    if bool((moved.stands == moved.stands[0]).all()):
        return [("clamped", f"all tokens stand at position {int(moved.stands[0])}")]
    if _steady(moved):
        return [("offset", f"{seen}: each pass of a row is off by a number of its own")]
    return [("unexplained", f"{seen}, and others where no one rule puts them")]


def _steady(moved: Moved) -> bool:
    """Whether the tokens of each pass are off by one number, which may be another one in other passes.

    Rows that begin at the same place count as one. Passes of one token each would fit any number: they do not count.
    """
    seen: dict[tuple[int, int], int] = {}
    apart = (moved.stands - moved.tokens).tolist()
    passes = zip(moved.before.tolist(), moved.starts.tolist(), strict=True)
    steady = all(seen.setdefault(at, off) == off for at, off in zip(passes, apart, strict=True))
    return steady and len(seen) < len(apart)


def _unturned(moved: Moved) -> Iterator[Tensor]:
    """Position 0 for all, which is another thing than counting anew where a pass has several tokens."""
    yield torch.zeros_like(moved.tokens)


def _slots(moved: Moved) -> Iterator[Tensor]:
    if bool(moved.before.any()):
        yield moved.tokens + moved.before


def _other_rows(moved: Moved) -> Iterator[Tensor]:
    """The position that another row of the batch has at the same place."""
    for other in sorted(set(moved.all_before)):
        if other and bool((moved.before != other).all()):
            yield moved.tokens + moved.before - other


def _ring(moved: Moved) -> Iterator[Tensor]:
    """A slot in a ring that holds the window, or the window without the query itself."""
    if moved.window is not None and moved.window > 1:
        yield moved.tokens % moved.window
        yield moved.tokens % (moved.window - 1)


def _rounded(moved: Moved) -> Iterator[Tensor]:
    for dtype in (torch.bfloat16, torch.float16, torch.int8, torch.uint8):
        yield moved.tokens.to(dtype).long()


def _counted_on(moved: Moved) -> Iterator[Tensor]:
    """What rows before it have in the same pass, or altogether, is counted: told from an offset by two rows."""
    if len(moved.rows.unique()) > 1:
        yield moved.tokens + moved.rows * (moved.ends - moved.starts + 1)
        yield moved.tokens + moved.rows * (moved.ends + 1)


def _again(moved: Moved) -> Iterator[Tensor]:
    """Cached keys are turned once more in each pass that follows, by their own position."""
    if bool((moved.later > 1).any()):
        yield moved.tokens * (1 + moved.later)


_RULES: tuple[tuple[str, str, Callable[[Moved], Iterable[Tensor]]], ...] = (
    ("restart", "positions start again at 0 in each pass", lambda moved: [moved.tokens - moved.starts]),
    ("shared_position", "all tokens of a pass stand where its first does", lambda moved: [moved.starts]),
    ("shared_position", "all tokens of a pass stand where its last does", lambda moved: [moved.ends]),
    ("rotation_count", "keys are not turned at all", _unturned),
    ("rotation_count", "keys are turned twice", lambda moved: [2 * moved.tokens]),
    ("rotation_count", "keys are turned the wrong way", lambda moved: [-moved.tokens]),
    ("rotation_count", "keys in the cache are turned again in each pass", _again),
    ("ring_index", "it is turned by its slot in the window's ring", _ring),
    ("padding", "what stands before the row's first token is counted", _slots),
    ("rows", "it has another row's position at its place", _other_rows),
    ("rows", "tokens of the rows before are counted", _counted_on),
    ("position_precision", "positions are rounded to a low precision", _rounded),
)
