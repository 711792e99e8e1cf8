"""Which lengths are asked."""

SMALLEST = 256
"""The short length where instances fit it, [token]."""


def shortest(needed: int) -> int:
    """256 or the next of its doubles that holds so many tokens, [token].

    >>> shortest(230), shortest(447)
    (256, 512)
    """
    length = SMALLEST
    while length < needed:
        length *= 2
    return length


def grid(short: int, end: int) -> tuple[int, ...]:
    """The short length, its doubles below the end, and the end, [token].

    A double that the end exceeds by less than a tenth gives way to it.

    >>> grid(256, 2048), grid(512, 3000), grid(256, 8152)
    ((256, 512, 1024, 2048), (512, 1024, 2048, 3000), (256, 512, 1024, 2048, 4096, 8152))
    """
    found = [short]
    while found[-1] * 2 < end:
        found.append(found[-1] * 2)
    if len(found) > 1 and end < 1.1 * found[-1]:
        found.pop()
    return (*found, end) if end > found[-1] else tuple(found)
