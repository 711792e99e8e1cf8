"""The two errors of the package, and the checks that raise the first."""

import math
from numbers import Integral, Real
from typing import Any

MAXIMUM_POSITION = 2**53
"""The largest position, distance or length [token]: beyond it float64, in which angles are computed, skips integers."""


class InputError(ValueError):
    """What was given cannot be used: the message names the thing, the requirement, and what was got."""


class Unavailable(RuntimeError):
    """Something the call needs is not installed or not here: the message says how to get it."""


def got(value: Any) -> str:
    """A short, one-line picture of a value for an error message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def positive_integer(name: str, value: Any) -> int:
    """Return `value` as an int, or raise `InputError` unless it is an integer >= 1 (bool is refused)."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise InputError(f"{name} must be an integer >= 1, got {got(value)}")
    return int(value)


def non_negative_integer(name: str, value: Any) -> int:
    """Return `value` as an int, or raise `InputError` unless it is an integer >= 0 (bool is refused)."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise InputError(f"{name} must be an integer >= 0, got {got(value)}")
    return int(value)


def even_integer(name: str, value: Any) -> int:
    """Return `value` as an int, or raise `InputError` unless it is an even integer >= 2."""
    number = positive_integer(name, value)
    if number % 2:
        raise InputError(f"{name} must be even, because rotary channels turn in pairs, got {number}")
    return number


def finite(name: str, value: Any) -> float:
    """Return `value` as a float, or raise `InputError` unless it is a finite real number (bool is refused)."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:  # an integer beyond every float
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{name} must be a finite number, got {got(value)}")
    return number


def positive(name: str, value: Any) -> float:
    """Return `value` as a float, or raise `InputError` unless it is finite and > 0."""
    number = finite(name, value)
    if number <= 0:
        raise InputError(f"{name} must be > 0, got {got(value)}")
    return number


def at_least(name: str, value: Any, least: float) -> float:
    """Return `value` as a float, or raise `InputError` unless it is finite and >= `least`."""
    number = finite(name, value)
    if number < least:
        raise InputError(f"{name} must be >= {least:g}, got {got(value)}")
    return number


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return `value`, or raise `InputError` unless it is one of `choices`."""
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, got {got(value)}")
    return value


def boolean(name: str, value: Any) -> bool:
    """Return `value`, or raise `InputError` unless it is True or False."""
    if not isinstance(value, bool):
        raise InputError(f"{name} must be True or False, got {got(value)}")
    return value
