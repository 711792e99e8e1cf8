"""The numbers that stand on an axis: round ones, and in few characters."""

import math

from ordinate.describe.words import raised

MOST = 1e150
"""Numbers of a chart lie between minus this and this, so that all that is computed from them is finite."""


def drawable(value: float) -> bool:
    """Whether a number can be on an axis; NaN cannot.

    >>> drawable(-2.5), drawable(math.nan), drawable(1e200)
    (True, False, False)
    """
    return abs(value) <= MOST


def ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Round numbers that span [low, high], at steps of 1, 2 or 5 times a power of ten.

    >>> ticks(0.2, 3.9)
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    span = max(high - low, 1e-6, 1e-6 * abs(high))
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * times for times in (1, 2, 5, 10, 20) if span / (power * times) <= most - 1)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 9) for number in range(first, max(last, first + 1) + 1)]


def decades(low: float, high: float, most: int = 7) -> list[float]:
    """Powers of ten that span [low, high], every second or third one where there are many.

    >>> decades(3, 2e5)
    [1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0, 1000000.0]
    """
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    step = max(1, math.ceil((last - first) / most))
    last = max(last, first + 1)
    return [10.0**power for power in range(first, last + step, step) if power <= last or power - step < last]


def ratios(low: float, high: float) -> list[float]:
    """Powers of ten within [low, high]; where there are fewer than three, also twice and five times as much.

    >>> ratios(3, 2e5), ratios(3, 60)
    ([10.0, 100.0, 1000.0, 10000.0, 100000.0], [5.0, 10.0, 20.0, 50.0])
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for times in ((1,), (1, 2, 5), range(1, 10)):
        found = [step * 10.0**power for power in powers for step in times if low <= step * 10.0**power <= high]
        if len(found) > 2:
            return found
    return [low, high]


def short(value: float) -> str:
    """A power of ten, or a number near one, in few characters.

    >>> short(0.001), short(100.0), short(1e6), short(1e-8)
    ('0.001', '100', '1M', '10⁻⁸')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size <= abs(value) < 1e12:
            return f"{value / size:g}{letter}"
    shown = raised(f"{value:g}").replace("-", "−")
    return shown.replace("1 × ", "", 1) if shown.lstrip("−").startswith("1 × ") else shown
