"""What a run will cost, said before anything is asked."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ordinate.errors import InputError
from ordinate.validate.cells import Cell, Request
from ordinate.validate.statistics import LOOKS
from ordinate.validate.tasks.associative_copy import AssociativeCopy
from ordinate.validate.trials import Trial

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([kmg]?)", re.IGNORECASE)


@dataclass(frozen=True)
class Estimate:
    """Tokens of prompts and answers together.

    Args:
        least: where every task is at its floor at the first look
        most: where every length needs every look
        requests: sent where every length needs every look; 0 where no tasks are asked
        rate: tokens in a second as one prompt of a short length was measured; None where none was
        levels: those beside L3 that are measured
        level_least, level_most: what these take more, [token]
        level_seconds: in which they end, [s]
        single: of the requests, those that are sent for the log-probability of one token
    """

    least: int
    most: int
    requests: int
    rate: float | None = None
    levels: tuple[str, ...] = ()
    level_least: int = 0
    level_most: int = 0
    level_seconds: float = 0.0
    single: int = 0

    @property
    def tokens(self) -> tuple[int, int]:
        """Least and most of all together, [token]."""
        return self.least + self.level_least, self.most + self.level_most

    @property
    def seconds(self) -> tuple[float, float] | None:
        """Least and most at that rate, [s]; long prompts take more for each token than short ones."""
        if self.rate is None:
            return None
        levels = min(self.level_most / self.rate, self.level_seconds)
        return (min(self.level_least / self.rate, levels) + self.least / self.rate, levels + self.most / self.rate)

    def sentences(self) -> tuple[str, ...]:
        """In words."""
        words = []
        single = f", {self.single} of them for the log-probability of one token each" if self.single else ""
        if self.requests:
            words.append(
                f"{amount(self.least)} tokens where every task is at its floor, at most {amount(self.most)} "
                f"in {self.requests} requests{single}"
            )
        if self.levels:
            low, high = map(amount, self.tokens)
            apart = f" (in all {low} to {high})" if self.requests else ""
            words.append(
                f"{amount(self.level_least)} to {amount(self.level_most)} tokens{' more' * bool(self.requests)} for "
                f"{', '.join(self.levels)}, which end after {duration(self.level_seconds)} at the latest{apart}"
            )
        if self.seconds is not None and self.rate is not None:
            low, high = map(duration, self.seconds)
            words.append(
                f"{low} to {high} at the {self.rate:.0f} tokens/s of one short prompt; long prompts take more for "
                f"each token{', and so do requests of one token' * bool(self.single)}"
            )
        return tuple(words)


def cost(cell: Cell) -> int:
    """About how many tokens a request of a cell takes, [token]."""
    if cell.measure == "margin":
        return 2 * cell.length
    if cell.measure == "copy":  # a row up to the first copy's end, and a whole one
        level = {**AssociativeCopy.defaults, **dict(cell.difficulty)}
        share = {"start": 0.0, "middle": 0.5}.get(cell.places, 1.0)
        return round(cell.length * (1 + share)) + 2 * level["value"]
    return cell.length + cell.reserve


def spent(cells: Iterable[Cell]) -> int:
    """About how many tokens were taken where each of these was asked once, [token]."""
    return sum(map(cost, cells))


def estimate(
    trials: Iterable[Trial],
    *,
    rate: float | None = None,
    shard: tuple[int, int] | None = None,
    count: Callable[[Request], int] | None = None,
    stepped: bool = False,
) -> Estimate:
    """The tokens and requests of a plan.

    Args:
        trials: what is asked
        rate: tokens in a second, where it is known
        shard: which of how many parts; a part takes every look of its units
        count: how many requests a sample takes; one where not given
        stepped: whether those for log-probabilities are of one token each
    """
    least = most = requests = single = 0
    for trial in trials:
        for cell in trial.cells:
            units = trial.control_units if cell.control else trial.units
            mine = range(units) if shard is None else range(shard[0], units, shard[1])
            most += len(mine) * trial.members * cost(cell)
            sent = len(mine) * trial.members
            if count is not None and cell.measure != "answer":
                sent = sum(count(request) for unit in mine for request in trial.requests(cell, unit, unit + 1))
                single += sent * stepped
            requests += sent
            if cell.length == trial.short and not cell.control:
                first = trial.units if trial.measure != "answer" else min(LOOKS[0], trial.units)
                least += first * trial.members * cost(cell)
    return Estimate(most if shard else least, most, requests, rate, single=single)


def tokens(text: str) -> int:
    """A number of tokens as it is written: "200000", "60k", "5M"; k is 1,000, which of a length is 1,024.

    Raises:
        InputError: it is none, or not above 0

    >>> tokens("5M"), tokens("1.5k")
    (5000000, 1500)
    """
    found = _AMOUNT.fullmatch(text.strip())
    number = round(float(found[1]) * _UNITS[found[2].lower()]) if found else 0
    if number < 1:
        raise InputError(f"a budget must be a number of tokens such as 200000, 60k or 5M, got {text!r}")
    return number


def amount(number: float) -> str:
    """A number in three digits.

    >>> amount(61_440), amount(12_300_000), amount(640)
    ('61.4k', '12.3M', '640')
    """
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.0f}"


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(42), duration(610), duration(9000), duration(864_000), duration(1e9)
    ('42 s', '10 min', '2.5 h', '10 days', '32 years')
    """
    for most, unit, size in ((120, "s", 1), (7200, "min", 60)):
        if seconds < most:
            return f"{seconds / size:.0f} {unit}"
    if seconds < 3 * 86_400:
        return f"{seconds / 3600:.1f} h"
    days = seconds / 86_400
    return f"{days:.0f} days" if days < 3 * 365 else f"{days / 365.25:,.0f} years"
