"""Numbers as a reader wants them."""

from ordinate.prove.result import Estimate


def count(number: int) -> str:
    """1234567 as '1,234,567'."""
    return f"{number:,}"


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
