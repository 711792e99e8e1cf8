"""Numbers as a reader wants them."""

from typing import Any

from ordinate.prove.result import Estimate


def count(number: int) -> str:
    """1234567 as '1,234,567'."""
    return f"{number:,}"


def fact(given: Any) -> str:
    """A fact of any kind, as its file has it, but in words where it has none.

    >>> fact(None), fact(True), fact(512), fact("0.9")
    ('none', 'yes', '512', '0.9')
    """
    return {None: "none", True: "yes", False: "no"}[given] if given is None or isinstance(given, bool) else str(given)


def size(number: int) -> str:
    """Bytes in the largest binary unit that they fill.

    >>> size(0), size(2048), size(3 * 2**29)
    ('0 B', '2 KiB', '1.5 GiB')
    """
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if number >= 2**power:
            return f"{number / 2**power:,.4g} {unit}"
    return f"{number:,} B"


def signed(number: float, digits: int = 3) -> str:
    """A number with its sign; a true minus.

    >>> signed(-0.5, 1)
    '−0.5'
    """
    return f"{number:+.{digits}f}".replace("-", "−")


def loss(found: Estimate) -> str:
    """A loss and its standard error."""
    return f"{found.mean:.3f}" + _error(found)


def change(found: Estimate) -> str:
    """A difference and its standard error."""
    return signed(found.mean) + _error(found)


def _error(found: Estimate) -> str:
    return "" if found.standard_error is None else f" ± {found.standard_error:.3f}"
