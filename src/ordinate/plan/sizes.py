"""Memory in words."""


def in_words(count: int) -> str:
    """Bytes as a person reads them: exact where they are few, else in binary units.

    >>> in_words(2**31), in_words(70272), in_words(500)
    ('2 GiB', '68.6 KiB', '500 B')
    """
    for unit, size in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        # A whole number of GiB stays one: 1,024 GiB, not 1 TiB.
        if count >= size and not (unit == "TiB" and count < 4 * size and count % 2**30 == 0):
            value = count / size
            return f"{value:,.0f} {unit}" if value >= 100 or value == int(value) else f"{value:.3g} {unit}"
    return f"{count} B"
