"""Lengths and memory as people write them on a command line: 128k tokens, 80GiB.

Of a length k is 1,024, because windows are powers of two; of a budget (`ordinate.validate.estimate.tokens`) 1,000.
"""

import re
from decimal import Decimal, InvalidOperation

import typer

from ordinate.errors import MAXIMUM_POSITION, InputError, got

_LENGTHS = {"": 1, "k": 2**10, "m": 2**20}
_BYTES = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}


def length_of(text: str, what: str = "a length") -> int:
    """Tokens: a number, with k for 1,024 and M for 1,048,576; `what` names it where it is refused.

    Raises:
        InputError: no such number, below 1 or beyond 2^53

    >>> length_of("4k"), length_of("131072"), length_of("1M")
    (4096, 131072, 1048576)
    """
    return _number(what, text, _LENGTHS, MAXIMUM_POSITION, "4096, 4k or 1M")


def bytes_of(text: str) -> int:
    """Memory: a number with B, or GB for 10^9 B and GiB for 2^30 B, and so on.

    Raises:
        InputError: no such number, or below 1

    >>> bytes_of("80GiB"), bytes_of("1.5 GB")
    (85899345920, 1500000000)
    """
    return _number("memory", text, _BYTES, 2**62, "80GiB, 80GB or 1000B, with its unit")


def lengths_of(text: str, what: str = "a length") -> tuple[int, ...]:
    """Several lengths with commas between, each once, in the order given."""
    return tuple(dict.fromkeys(length_of(part, what) for part in text.split(",")))


def counts_of(text: str) -> tuple[int, ...]:
    """Several counts with commas between, each once, in the order given."""
    return tuple(dict.fromkeys(_number("a batch", part, {"": 1}, 2**40, "1 or 16") for part in text.split(",")))


def _number(what: str, text: str, units: dict[str, int], most: int, example: str) -> int:
    found = re.fullmatch(r"\s*(\d{1,30}(?:\.\d{1,15})?)\s*([a-zA-Z]*)\s*", text, re.ASCII)
    unit = units.get(found[2].lower()) if found else None
    if found is None or unit is None:
        raise InputError(f"{what} must be like {example}, got {got(text)}")
    try:
        value = Decimal(found[1]) * unit
    except InvalidOperation:
        raise InputError(f"{what} must be like {example}, got {got(text)}") from None
    if value != int(value) and (unit == 1 or units is not _BYTES):
        raise InputError(f"{what} must be whole, got {got(text)}")
    if not 1 <= value <= most:
        raise InputError(f"{what} must be from 1 to {most}, got {got(text)}")
    return int(value)


def tokens_of(text: str) -> int:
    """`length_of` as the parser of an option, which then names itself in what it refuses."""
    try:
        return length_of(text)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error
