"""What is timed, and what is read off the times."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

Seconds = Mapping[str, Sequence[float]]
"""The seconds of each contender, by round."""


@dataclass(frozen=True)
class Figure:
    """A number that every round gives.

    Args:
        name: what it is
        unit: "x" for a ratio, "us" for microseconds
        of: the number of each round, from the seconds of all contenders
        at_most, at_least: the bar, or None
    """

    name: str
    unit: str
    of: Callable[[Seconds], list[float]]
    at_most: float | None = None
    at_least: float | None = None


@dataclass(frozen=True)
class Case:
    """One comparison on the same input.

    Args:
        name: what is done
        contenders: callables by name
        figures: what is read off their times
        difference: how far the product's result is from the right one, computed once, before anything is timed
        measure: what `difference` is
        tolerance: the largest difference with which times mean anything
        threads: of each contender, 1 where it is not named
    """

    name: str
    contenders: Mapping[str, Callable[[], object]]
    figures: Sequence[Figure]
    difference: float
    measure: str
    tolerance: float
    threads: Mapping[str, int] = field(default_factory=dict)


def share(product: str, *limits: str, at_most: float | None = None) -> Figure:
    """How many times as long the product takes as a limit; of several limits, as the one with the smallest median."""

    def of(seconds: Seconds) -> list[float]:
        limit = min(limits, key=lambda name: statistics.median(seconds[name]))
        return [a / b for a, b in zip(seconds[product], seconds[limit], strict=True)]

    return Figure(f"time of {product}, of that of {limits[0]}", "x", of, at_most=at_most)


def speed(product: str, rival: str, at_least: float | None = None) -> Figure:
    """How many times as long a rival takes as the product."""

    def of(seconds: Seconds) -> list[float]:
        return [b / a for a, b in zip(seconds[product], seconds[rival], strict=True)]

    return Figure(f"speed of {product}, of that of {rival}", "x", of, at_least=at_least)


def call(product: str, calls: int, at_most: float | None = None) -> Figure:
    """What one of many calls takes."""
    return Figure(f"one call of {product}", "us", lambda s: [1e6 * x / calls for x in s[product]], at_most=at_most)


def extra(more: str, fewer: str, operations: int, at_most: float | None = None) -> Figure:
    """What each operation takes that one contender has more than another."""

    def of(seconds: Seconds) -> list[float]:
        return [1e6 * (a - b) / operations for a, b in zip(seconds[more], seconds[fewer], strict=True)]

    return Figure(f"each operation that {more} has more than {fewer}", "us", of, at_most=at_most)
