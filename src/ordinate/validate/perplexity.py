"""Perplexities of one text: in sliding windows, by position, and of the tokens alone that need a long context."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ordinate.errors import InputError, positive_integer
from ordinate.prove.result import Estimate
from ordinate.prove.statistics import estimate

STRIDE = 256
BLOCK = 64
"""Tokens whose losses are taken to hang together, for standard errors."""

GAIN, COST = 2.0, 2.0
"""Of a key token, [nat]: it costs at least GAIN less behind the long context, and no more than COST there."""

Read = Callable[[Sequence[int], int], np.ndarray]
"""The losses of the last so many of these ids, [nat]: the `nats` of a backend's `losses`."""


@dataclass(frozen=True)
class Window:
    """A row that is read anew.

    Args:
        start, stop: its tokens in the text, [start, stop)
        first: the first that is scored; all from there on are
    """

    start: int
    stop: int
    first: int


def windows(tokens: int, length: int, stride: int = STRIDE) -> tuple[Window, ...]:
    """Windows that score every token but the first once, each behind as much context as the stride leaves.

    The first window scores all its tokens; each later one the last `stride` of its `length`, or those that remain.

    Args:
        tokens: of the text
        length: of a window, [token]
        stride: from one window to the next, [token]

    Raises:
        InputError: a text of one token, or a stride that is no shorter than the window

    Source: Press et al. 2022, arXiv 2108.12409, appendix B.
    Differs from the paper: nothing; `Sliding.perplexity` can leave out what stands early in the first window.

    >>> windows(10, 6, 3)
    (Window(start=0, stop=6, first=1), Window(start=3, stop=9, first=6), Window(start=4, stop=10, first=9))
    """
    tokens, length = positive_integer("tokens", tokens), positive_integer("length", length)
    stride = positive_integer("stride", stride)
    if tokens < 2 or stride >= length:
        raise InputError(f"a text of {tokens} tokens needs 2, and a stride below its windows' {length}, got {stride}")
    found, stop = [Window(0, min(length, tokens), 1)], min(length, tokens)
    while stop < tokens:
        end = min(stop + stride, tokens)
        found.append(Window(end - length, end, stop))
        stop = end
    return tuple(found)


@dataclass(frozen=True)
class Sliding:
    """The losses of a text in sliding windows.

    Args:
        length, stride: of the windows, [token]
        places: where each scored token stands in the text, [tokens]
        context: how many tokens its window holds before it, [tokens]
        losses: [tokens], [nat]
    """

    length: int
    stride: int
    places: np.ndarray
    context: np.ndarray
    losses: np.ndarray

    def perplexity(self, behind: int = 1) -> float:
        """exp(mean loss) of the tokens behind at least so many, every token weighing the same.

        Args:
            behind: 1 is all; `length - stride` leaves out those that stand early in the first window, which cost more
                for want of context and not for their position

        Raises:
            InputError: no token stands behind so many
        """
        kept = self.losses[self.context >= behind]
        if not len(kept):
            raise InputError(f"behind must be at most {int(self.context.max())} tokens, got {behind}")
        return math.exp(float(kept.mean()))


def read_sliding(read: Read, ids: Sequence[int], length: int, *, stride: int = STRIDE) -> Sliding:
    """Read a text in sliding windows.

    Args:
        read: of a model
        ids: of the text
        length, stride: as in `windows`

    Raises:
        InputError: as `windows`, or another number of losses than was asked for, or losses that are not finite
    """
    rows = windows(len(ids), length, stride)
    losses = [_losses(read, ids[row.start : row.stop], row.stop - row.first) for row in rows]
    places = np.concatenate([np.arange(row.first, row.stop) for row in rows])
    context = np.concatenate([np.arange(row.first, row.stop) - row.start for row in rows])
    return Sliding(length, stride, places, context, np.concatenate(losses))


@dataclass(frozen=True)
class Slice:
    """The loss at positions in [start, stop)."""

    start: int
    stop: int
    loss: Estimate


def loss_by_position(losses: Sequence[float] | np.ndarray, edges: Sequence[int], block: int = BLOCK) -> list[Slice]:
    """The mean loss between each two edges, with its standard error over blocks of neighbours.

    Args:
        losses: of a text that was read in one piece, the loss of token i at position i, [tokens], [nat]; that of the
            first is not used
        edges: positions, rising
        block: as in `ordinate.prove.statistics.estimate`, [token]

    Raises:
        InputError: edges that do not rise inside the text

    >>> [part.loss.mean for part in loss_by_position([0.0, 3.0, 1.0, 1.0], [0, 2, 4], block=1)]
    [3.0, 1.0]
    """
    values, rising = np.asarray(losses, dtype=np.float64), list(edges)
    if len(rising) < 2 or rising != sorted(set(rising)) or rising[0] < 0 or rising[-1] > len(values) or rising[1] < 2:
        raise InputError(f"edges must rise from 0 to at most {len(values)}, the second above 1, got {rising}")
    places = np.arange(len(values))
    return [
        Slice(start, stop, estimate(values[max(start, 1) : stop], places[max(start, 1) : stop], block))
        for start, stop in pairwise(rising)
    ]


def key_tokens(
    long: Sequence[float] | np.ndarray,
    short: Sequence[float] | np.ndarray,
    *,
    gain: float = GAIN,
    cost: float = COST,
) -> np.ndarray:
    """Which tokens need the long context: those it makes likelier by far, and likely.

    key[i] = short[i] - long[i] > gain and long[i] < cost

    Args:
        long: losses behind the whole context, [tokens], [nat]
        short: of the same tokens behind the end of it alone, [tokens], [nat]
        gain, cost: [nat]

    Returns:
        bool, [tokens]

    Raises:
        InputError: two lists of different lengths, or losses that are not finite

    Source: Fang et al. 2024, arXiv 2410.23771, equations 4 to 6 (alpha = 2, beta = -2).
    Differs from the paper: losses stand where it has log-probabilities, so that the signs are turned.
    """
    first, second = np.asarray(long, dtype=np.float64), np.asarray(short, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise InputError(f"losses must be of the same tokens, got {first.shape} and {second.shape}")
    _finite(first, second)
    return (second - first > gain) & (first < cost)


def long_perplexity(losses: Sequence[float] | np.ndarray, keys: np.ndarray) -> float | None:
    """exp(mean loss of the key tokens); None where there is none.

    Args:
        losses: of a model behind the whole context, [tokens], [nat]
        keys: `key_tokens` of the same text, by one and the same model for all that are compared: a model that is its
            own judge chooses the tokens that it knows, and its number is for itself alone

    Raises:
        InputError: not one key for each loss, or losses that are not finite
    """
    values = np.asarray(losses, dtype=np.float64)
    if np.shape(keys) != values.shape:
        raise InputError(f"keys must say of each of {values.shape} losses whether it counts, got {np.shape(keys)}")
    _finite(values)
    return math.exp(float(values[keys].mean())) if np.any(keys) else None


def _losses(read: Read, ids: Sequence[int], last: int) -> np.ndarray:
    found = np.asarray(read(ids, last), dtype=np.float64)
    if found.shape != (last,):
        raise InputError(f"a model must give the losses of {last} tokens, got {found.shape}")
    _finite(found)
    return found


def _finite(*losses: np.ndarray) -> None:
    for values in losses:
        if not np.isfinite(values).all():
            raise InputError(f"losses must be finite, got {values[~np.isfinite(values)][0]}")
