"""What is measured where: lengths, distances and places, all in units of the original's window."""

from dataclasses import dataclass

from ordinate.errors import InputError, positive_integer

ROOM = 64
"""Tokens kept free behind a text for a question and its answer."""

SMALLEST_WINDOW = 64
_SCORED = 256
_PASSAGE = 768


@dataclass(frozen=True)
class Plan:
    """What is measured; every number is in tokens unless said otherwise.

    Args:
        window: the original's window
        target: the extended model's window
        length: the long text, which is read once, with its passkeys
        edges: bounds of the ranges of positions whose losses are averaged, ascending, from 0 to `length`
        asked_at: after how much of the text the passkeys are asked for, ascending
        keys: how many passkeys, [1]
        contexts: lengths of the prompts that grow, ascending, their scored end included
        scored: the last tokens of each of these prompts, the same in all
        passage: a text of the position-gap probe
        passages: how many such texts, [1]
        distances: position ids at which the second half of a passage starts, ascending; the first is contiguous
        block: neighbouring tokens that are one unit of the statistics
        context_block: the same in the growing context, where only a few hundred tokens are scored
    """

    window: int
    target: int
    length: int
    edges: tuple[int, ...]
    asked_at: tuple[int, ...]
    keys: int
    contexts: tuple[int, ...]
    scored: int
    passage: int
    passages: int
    distances: tuple[int, ...]
    block: int = 64
    context_block: int = 32


def plan(window: int, target: int, *, length: int | None = None, full: bool = False) -> Plan:
    """Choose what is measured for two windows.

    The long text reaches to 7/4 of the window or the target, whichever is less, and the growing context to the
    window; a full run goes to the target in both.

    Args:
        window: the original's window, [token]
        target: the extended model's window, [token]
        length: of the long text instead, [token]
        full: go to the target

    Raises:
        InputError: a window below 64 tokens, a target below the window, a length outside 64 and the target (where 64
            tokens are kept for question and answer), or both a length and `full`

    >>> plan(8192, 16384).edges
    (0, 256, 1024, 2048, 4096, 6144, 8192, 10240, 12288, 14336)
    >>> plan(8192, 16384).distances
    (384, 4096, 8192, 12288, 16384, 32768)
    """
    window, target = positive_integer("window", window), positive_integer("target", target)
    if window < SMALLEST_WINDOW:
        raise InputError(f"the original's window must be at least {SMALLEST_WINDOW} tokens, got {window}")
    if target < window:
        raise InputError(f"the extended model's window must be at least the original's {window} tokens, got {target}")
    longest = target - ROOM
    if length is None:
        length = longest if full else min(7 * window // 4, longest)
    elif full:
        raise InputError("length and full must not be given together: full means the whole target")
    length = positive_integer("length", length)
    if not SMALLEST_WINDOW <= length <= longest:
        raise InputError(
            f"length must be between {SMALLEST_WINDOW} and {longest}, the extended model's window less {ROOM} tokens "
            f"for question and answer, got {length}"
        )
    passage = min(_PASSAGE, window)
    contexts = growing(window, target if full else window)
    return Plan(
        window=window,
        target=target,
        length=length,
        edges=bounds(window, length),
        asked_at=tuple(
            sorted({n for n in (window // 4, window // 2, window - ROOM, 3 * window // 2) if n < length} | {length})
        ),
        keys=6,
        contexts=contexts,
        scored=min(_SCORED, contexts[0] // 2),
        passage=passage,
        passages=3,
        distances=tuple(
            sorted(
                {passage // 2}
                | {
                    n
                    for n in (window // 2, window, 3 * window // 2, 2 * window, 4 * window, target)
                    if n > passage // 2
                }
            )
        ),
    )


def bounds(window: int, length: int) -> tuple[int, ...]:
    """Bounds of ranges of positions: finer near the start, where each token of context counts, then window / 4 each.

    >>> bounds(8192, 9000)
    (0, 256, 1024, 2048, 4096, 6144, 8192, 9000)
    """
    early = [window // 32, window // 8, window // 4, window // 2]
    late = range(window // 2, length, max(1, window // 4))
    return tuple(sorted({0, length, *(edge for edge in (*early, *late) if edge < length)}))


def growing(window: int, longest: int) -> tuple[int, ...]:
    """Doubling lengths from 512 tokens (a small window's sixteenth) to the longest, which is always among them.

    >>> growing(8192, 16384)
    (512, 1024, 2048, 4096, 8192, 16384)
    """
    shortest = min(512, max(16, window // 4))
    lengths = [shortest]
    while 2 * lengths[-1] < longest:
        lengths.append(2 * lengths[-1])
    return (*lengths, longest) if lengths[-1] < longest else tuple(lengths)
