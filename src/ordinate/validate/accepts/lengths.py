"""Which lengths are tried around those asked for: where engines change their ways."""

from collections.abc import Iterable, Sequence

from ordinate.errors import InputError, positive_integer

BLOCK = 256
"""A multiple of the blocks of 16, 32, 64, 128 and 256 tokens in which engines keep keys, [token]."""


def edges(
    lengths: Sequence[int], *, limit: int | None = None, windows: Iterable[int] = (), block: int = BLOCK
) -> dict[int, tuple[str, ...]]:
    """The lengths to be tried, and why each is.

    For each length N asked for: N - 1, N and N + 1; the power of two in (N / 2, N], the last multiple of `block` up
    to N, and each one more and one less. For each sliding window W and for the declared limit that lie within a token
    of the lengths asked for: W - 1, W, W + 1.

    Args:
        lengths: asked for, [token]
        limit: what is declared that prompt and answer may take, [token]; None where nothing is
        windows: how many tokens sliding layers see, [token]
        block: [token]

    Returns:
        reasons by length, ascending

    Raises:
        InputError: no length, or one below 1

    >>> edges([1000], limit=1001)
    {511: ('power of two',), 512: ('power of two',), 513: ('power of two',), 767: ('block',), 768: ('block',), \
769: ('block',), 999: ('asked',), 1000: ('asked', 'window'), 1001: ('asked', 'window')}
    """
    if isinstance(lengths, str) or not lengths:
        raise InputError("lengths must be one or more numbers of tokens, got none")
    asked = sorted({positive_integer("length", length) for length in lengths})
    block = positive_integer("block", block)
    found: dict[int, set[str]] = {}

    def around(length: int, reason: str) -> None:
        for near in (length - 1, length, length + 1):
            if near >= 1:
                found.setdefault(near, set()).add(reason)

    for length in asked:
        around(length, "asked")
        if length >= 2:
            around(1 << (length.bit_length() - 1), "power of two")
        if length >= block:
            around(length // block * block, "block")
    for window in sorted({*windows, *(() if limit is None else (limit,))}):
        if asked[0] - 1 <= window <= asked[-1] + 1:
            around(window, "window")
    # Nothing beyond one token past the longest that was asked for.
    return {length: tuple(sorted(found[length])) for length in sorted(found) if length <= asked[-1] + 1}
