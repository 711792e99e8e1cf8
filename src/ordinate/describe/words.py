"""Numbers, lists of layers and foreign names as a person reads them."""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any


def number(value: float) -> str:
    """A number in at most six significant digits, thousands apart.

    >>> number(8192), number(500000.0), number(1.138629436), number(6.283185307)
    ('8,192', '500,000', '1.13863', '6.28319')
    """
    if math.isfinite(value) and value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.6g}"


def figures(value: float, digits: int = 6) -> str:
    """A number in so many significant digits as it is printed: thousands apart, powers of ten raised, a true minus.

    >>> figures(0.5), figures(-1.4330125702369627e-05), figures(458917.0, 3), figures(9.1e-06, 2)
    ('0.5', '−1.43301 × 10⁻⁵', '459,000', '9.1 × 10⁻⁶')
    """
    return raised(number(float(f"{value:.{digits}g}"))).replace("-", "−")


def raised(written: str) -> str:
    """A number as Python writes it, with a power of ten as it is printed.

    >>> raised("1e-06"), raised("4.3e+24"), raised("16,384")
    ('1 × 10⁻⁶', '4.3 × 10²⁴', '16,384')
    """
    mantissa, _, power = written.partition("e")
    return f"{mantissa} × 10{str(int(power)).translate(_RAISED)}" if power else written


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def counted(count: float, thing: str, ending: str = "s") -> str:
    """A number of things, with the plural where it is not one.

    >>> counted(1, "token"), counted(8192, "token")
    ('1 token', '8,192 tokens')
    """
    shown = f"{count:,}" if isinstance(count, int) else raised(number(count))
    return f"{shown} {thing}{'' if count == 1 else ending}"


def ranges(layers: Sequence[int], most: int = 6) -> str:
    """Numbers of layers, in runs; an even spacing is named, a long list is cut.

    >>> ranges([0, 1, 2, 5]), ranges([5, 11, 17, 23, 29, 35, 41, 47])
    ('0-2, 5', '5, 11, ... 47 (every 6th)')
    """
    runs: list[list[int]] = []
    for layer in sorted(layers):
        if runs and layer == runs[-1][1] + 1:
            runs[-1][1] = layer
        else:
            runs.append([layer, layer])
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in runs]
    if len(shown) <= most:
        return ", ".join(shown)
    steps = {after[0] - before[0] for before, after in itertools.pairwise(runs)}
    if len(steps) == 1 and len(runs) == len(layers):
        step = steps.pop()
        return f"{shown[0]}, {shown[1]}, ... {shown[-1]} (every {step}{ordinal(step)})"
    return f"{', '.join(shown[:3])}, ... {shown[-1]}"


def ordinal(value: int) -> str:
    """The ending of an ordinal number.

    >>> [f"{n}{ordinal(n)}" for n in (1, 2, 3, 4, 11, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd']
    """
    if value % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")


def printable(text: str) -> str:
    """Text from a file that cannot steer a terminal: what is not printable becomes an escape.

    >>> print(printable(chr(27) + "[31mred"))
    \\x1b[31mred
    """
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def listed(value: Any, *, without: tuple[str, ...] = (), defaults: bool = True) -> str:
    """A dataclass's fields after a comma; lists are counted, what is None is left out."""
    shown = []
    for field in dataclasses.fields(value):
        entry = getattr(value, field.name)
        if field.name in without or entry is None or (not defaults and entry == field.default):
            continue
        if isinstance(entry, tuple) and len(entry) > 4:
            entry = f"{len(entry)} numbers from {number(min(entry))} to {number(max(entry))}"
        elif isinstance(entry, (int, float)) and not isinstance(entry, bool):
            entry = number(entry)
        shown.append(f"{field.name} {entry}")
    return "".join(f", {entry}" for entry in shown)
